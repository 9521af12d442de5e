// Pointers and keys, and the beginning.
const pointers = new Map();
let pressed = null, pinched = 0;

const under = (x, y) => {
  const factor = growth(), slack = 4 / view.scale;
  const reach = (node) => screenRadius(node, factor) / view.scale + slack;
  return nodeAt((x - view.x) / view.scale, (y - view.y) / view.scale, reach, 34 * factor / view.scale + slack);
};

stage.addEventListener("pointerdown", (event) => {
  stage.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  pressed = pointers.size === 1 ? { x: event.clientX, y: event.clientY, moved: false } : null;
  pinched = 0;
});
stage.addEventListener("pointermove", (event) => {
  const pointer = pointers.get(event.pointerId);
  if (!pointer) {
    if (event.pointerType !== "touch") hover(under(event.clientX, event.clientY), event.clientX, event.clientY);
    return;
  }
  const x = event.clientX - pointer.x, y = event.clientY - pointer.y;
  if (pointers.size === 1) {
    if (pressed && !pressed.moved && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < 5) return;
    if (pressed) pressed.moved = true;
    stage.classList.add("dragging");
    if (hovered >= 0) hover(-1);
    moveBy(x, y);
  }
  pointer.x = event.clientX;
  pointer.y = event.clientY;
  if (pointers.size === 2) {
    const [a, b] = pointers.values();
    const distance = Math.hypot(a.x - b.x, a.y - b.y);
    if (pinched > 0 && distance > 0) zoomAt((a.x + b.x) / 2, (a.y + b.y) / 2, distance / pinched);
    moveBy(x / 2, y / 2);
    pinched = distance;
  }
});
function release(event) {
  if (!pointers.delete(event.pointerId)) return;
  stage.classList.remove("dragging");
  pinched = 0;
  if (event.type === "pointerup" && pressed && !pressed.moved && !pointers.size) select(under(event.clientX, event.clientY));
  pressed = null;
}
stage.addEventListener("pointerup", release);
stage.addEventListener("pointercancel", release);
stage.addEventListener("pointerleave", () => { if (!pointers.size) hover(-1); });
stage.addEventListener("wheel", (event) => {
  event.preventDefault();
  hover(-1);
  const lines = event.deltaMode === 1 ? 16 : 1;
  zoomAt(event.clientX, event.clientY, Math.exp(-Math.max(-120, Math.min(120, event.deltaY * lines)) * (event.ctrlKey ? 0.01 : 0.0022)));
}, { passive: false });
stage.addEventListener("dblclick", (event) => zoomAt(event.clientX, event.clientY, 1.8));

const zooms = {
  in: () => zoomAt(view.width / 2, view.height / 2, 1.4),
  out: () => zoomAt(view.width / 2, view.height / 2, 1 / 1.4),
  all: showAll,
};
document.getElementById("zoom").addEventListener("click", (event) => {
  const zoom = zooms[event.target.dataset.zoom];
  if (zoom) zoom();
});
const keys = {
  "+": zooms.in, "=": zooms.in, "-": zooms.out, "0": zooms.all,
  ArrowLeft: () => moveBy(60, 0), ArrowRight: () => moveBy(-60, 0), ArrowUp: () => moveBy(0, 60), ArrowDown: () => moveBy(0, -60),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isWriting = event.target === field, isInPanel = panel.contains(event.target) || legend.contains(event.target);
  if (event.key === "/" && !isWriting) {
    field.focus();
    field.select();
  } else if (event.key === "Escape") {
    if (selected < 0 && shownGroup >= 0) legend.querySelector("[aria-pressed=true]").click();
    select(-1);
  } else if (!isWriting && !isInPanel && keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
});

window.addEventListener("resize", () => { resize(); changed(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readStyle(); changed(); });

readStyle();
resize();
fillLegend();
showCounts();
showAll();
