// Three sheets on each other: links, nodes, and marks on what is pointed at. Moving draws few links; when it stops, the
// others follow piece by piece.
const stage = document.getElementById("stage");
const sheets = ["edges", "nodes", "marks"].map((id) => {
  const canvas = document.getElementById(id);
  return { canvas, pen: canvas.getContext("2d") };
});
const [edgeSheet, nodeSheet, markSheet] = sheets;
const movingEdges = 2500, pieceEdges = 3000, farEdges = 14000, settleMs = 140;

const view = { scale: 1, x: 0, y: 0, width: 0, height: 0, fit: 1 };
const style = {};
let focus = null;
// The smallest radius, and the one below which a square looks the same as a circle and is drawn faster.
let smallest = 1.4, squareBelow = 1.8;
let frame = 0, settled = 0, edgesDrawn = 0, edgesDue = false, dirty = false, moving = false;

function readStyle() {
  const computed = getComputedStyle(document.documentElement);
  for (const name of ["ink", "soft", "edge", "halo", "accent"]) style[name] = computed.getPropertyValue("--" + name).trim();
}

const screenX = (node) => xs[node] * view.scale + view.x;
const screenY = (node) => ys[node] * view.scale + view.y;
// Nodes grow slower than the plane: small ones are seen from afar, large ones do not fill the screen.
const growth = () => Math.pow(view.scale, 0.62) * (count > 1500 ? 0.9 : 1.1);
const screenRadius = (node, factor) => Math.max(smallest, radii[node] * factor);

function resize() {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  view.width = stage.clientWidth;
  view.height = stage.clientHeight;
  smallest = view.width <= 700 ? 1.1 : 1.4;
  squareBelow = 1.8 / ratio;
  for (const { canvas, pen } of sheets) {
    canvas.width = Math.round(view.width * ratio);
    canvas.height = Math.round(view.height * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.lineJoin = "round";
  }
}

// Where all nodes are, but for the few farthest.
function bounds() {
  const range = (values) => {
    const sorted = Float64Array.from(values).sort(), cut = Math.floor(sorted.length * 0.004);
    return [sorted[cut] || 0, sorted[sorted.length - 1 - cut] || 0];
  };
  return { x: range(xs), y: range(ys) };
}

function showAll() {
  const { x, y } = bounds();
  const phone = view.width <= 700;
  const left = phone ? 12 : Math.min(340, view.width * 0.25), right = phone ? 12 : 60, top = phone ? 110 : 30, bottom = phone ? 60 : 40;
  const width = Math.max(view.width - left - right, 100), height = Math.max(view.height - top - bottom, 100);
  view.scale = view.fit = Math.min(width / (x[1] - x[0] + 80), height / (y[1] - y[0] + 80), 2.5);
  view.x = left + width / 2 - (x[0] + x[1]) / 2 * view.scale;
  view.y = top + height / 2 - (y[0] + y[1]) / 2 * view.scale;
  changed();
}

function zoomAt(x, y, factor) {
  const scale = Math.min(Math.max(view.scale * factor, view.fit / 3), Math.max(12, view.fit * 8));
  view.x = x - (x - view.x) * scale / view.scale;
  view.y = y - (y - view.y) * scale / view.scale;
  view.scale = scale;
  changed();
}

function moveBy(x, y) {
  view.x += x;
  view.y += y;
  changed();
}

// Brings a node to the middle of what the panel leaves free, near enough to read what is around it.
function centreOn(node) {
  view.scale = Math.max(view.scale, Math.min(Math.max(0.9, view.fit * 2.2), 4));
  const phone = view.width <= 700;
  view.x = (phone ? view.width / 2 : (view.width - Math.min(342, view.width * 0.3)) / 2) - xs[node] * view.scale;
  view.y = (phone ? view.height * 0.34 : view.height / 2) - ys[node] * view.scale;
  changed();
}

// The plane was moved: everything is drawn anew in the next frame.
function changed() {
  dirty = true;
  moving = true;
  settled = performance.now() + settleMs;
  if (!frame) frame = requestAnimationFrame(draw);
}

function draw(now) {
  frame = 0;
  if (dirty) {
    dirty = false;
    edgeSheet.pen.clearRect(0, 0, view.width, view.height);
    edgesDrawn = 0;
    drawEdges(Math.min(movingEdges, edgeCount));
    drawNodes();
    drawMarks();
    edgesDue = true;
  } else if (moving && now >= settled) {
    moving = false;
    drawMarks();
  } else if (!moving && edgesDue) {
    const zoomedIn = view.scale > view.fit * 1.6;
    const due = zoomedIn ? edgeCount : Math.min(edgeCount, farEdges);
    drawEdges(Math.min(edgesDrawn + pieceEdges, due));
    edgesDue = edgesDrawn < due;
  }
  if (dirty || moving || edgesDue) frame = requestAnimationFrame(draw);
}

// Links up to number `end`, by colour.
function drawEdges(end) {
  const pen = edgeSheet.pen, { scale, x, y, width, height } = view;
  // The more links on the less room, the fainter each.
  const crowd = Math.max(0.07, 11 / Math.sqrt(edgeCount)) * Math.min(1, Math.sqrt(scale / 0.25));
  const opacity = Math.min(0.42, crowd * Math.min(2.4, 0.7 + 0.4 * scale / view.fit));
  const paths = new Array(neutral + 1);
  for (let e = edgesDrawn; e < end; e++) {
    const from = edgeFrom[e], to = edgeTo[e];
    const fromX = xs[from] * scale + x, fromY = ys[from] * scale + y, toX = xs[to] * scale + x, toY = ys[to] * scale + y;
    if ((fromX < 0 && toX < 0) || (fromY < 0 && toY < 0) || (fromX > width && toX > width) || (fromY > height && toY > height)) continue;
    const colour = edgeColour[e];
    (paths[colour] || (paths[colour] = [])).push(fromX, fromY, toX, toY);
  }
  pen.lineWidth = scale > view.fit * 3 ? 1.2 : 0.8;
  paths.forEach((points, colour) => {
    pen.strokeStyle = colour === neutral ? "rgba(" + style.edge + "," + opacity + ")" : data.colours[colour];
    pen.globalAlpha = colour === neutral ? 1 : Math.min(1, 1.6 * opacity);
    // Many short paths are drawn faster than one long one.
    for (let at = 0; at < points.length; at += 1600) {
      pen.beginPath();
      for (let p = at; p < Math.min(at + 1600, points.length); p += 4) {
        pen.moveTo(points[p], points[p + 1]);
        pen.lineTo(points[p + 2], points[p + 3]);
      }
      pen.stroke();
    }
  });
  pen.globalAlpha = 1;
  edgesDrawn = end;
}

const inSight = (x, y, radius) => x > -radius && y > -radius && x < view.width + radius && y < view.height + radius;

function circle(pen, x, y, radius) {
  if (radius < squareBelow) pen.rect(x - radius * 0.9, y - radius * 0.9, radius * 1.8, radius * 1.8);
  else {
    pen.moveTo(x + radius, y);
    pen.arc(x, y, radius, 0, 2 * Math.PI);
  }
}

function drawNodes() {
  const pen = nodeSheet.pen, factor = growth();
  pen.clearRect(0, 0, view.width, view.height);
  for (let group = data.colours.length - 1; group >= 0; group--) {
    pen.fillStyle = data.colours[group];
    pen.beginPath();
    for (let node = count - 1; node >= 0; node--) {
      if (groupOf[node] !== group) continue;
      const x = screenX(node), y = screenY(node), radius = screenRadius(node, factor);
      if (inSight(x, y, radius)) circle(pen, x, y, radius);
    }
    pen.fill();
  }
  // The outline that tells neighbours apart is worth its time for large nodes only.
  pen.strokeStyle = style.halo;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let node = 0; node < count; node++) {
    const radius = screenRadius(node, factor);
    const x = screenX(node), y = screenY(node);
    if (radius > 4 && inSight(x, y, radius)) circle(pen, x, y, radius);
  }
  pen.stroke();
}

// Names where there is room for them, and what is in the focus over all the rest.
function drawMarks() {
  const pen = markSheet.pen, factor = growth();
  pen.clearRect(0, 0, view.width, view.height);
  const taken = new Set();
  stage.classList.toggle("focused", Boolean(focus));
  if (focus) drawFocus(pen, factor, taken);
  else drawNames(pen, factor, taken, moving ? 14 : 40);
}

function drawNames(pen, factor, taken, most) {
  let written = 0;
  for (let node = 0; node < count && written < most; node++) {
    const x = screenX(node), y = screenY(node), radius = screenRadius(node, factor);
    if (!inSight(x, y, 0)) continue;
    if (radius < 3.5 && node > 12) continue;
    if (writeName(pen, node, x, y, radius, taken, false)) written++;
  }
}

// Below the node, unless another name is there.
function writeName(pen, node, x, y, radius, taken, isStrong) {
  let name = shortName(node);
  if (name.length > 34 && !isStrong) name = name.slice(0, 16) + "…" + name.slice(-16);
  else if (name.length > 70) name = name.slice(0, 44) + "…" + name.slice(-24);
  pen.font = (isStrong ? "600 13px " : "12px ") + "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
  const width = name.length * 6.6 + 8, top = y + radius + 3;
  const places = [];
  for (let column = Math.floor((x - width / 2) / 24); column <= Math.floor((x + width / 2) / 24); column++) {
    for (let row = Math.floor(top / 9); row <= Math.floor((top + 15) / 9); row++) places.push(column + "," + row);
  }
  if (!isStrong && places.some((place) => taken.has(place))) return false;
  places.forEach((place) => taken.add(place));
  pen.textAlign = "center";
  pen.textBaseline = "top";
  pen.lineWidth = 3.5;
  pen.strokeStyle = style.halo;
  pen.strokeText(name, x, top);
  pen.fillStyle = style.ink;
  pen.fillText(name, x, top);
  return true;
}

// `focus` has the nodes that stand out, and the edges between them.
function drawFocus(pen, factor, taken) {
  pen.lineWidth = 1.3;
  for (const [edges, colour] of [[focus.incoming, style.soft], [focus.outgoing, style.accent]]) {
    pen.strokeStyle = colour;
    pen.globalAlpha = edges.length > 400 ? 0.35 : 0.75;
    for (let at = 0; at < edges.length; at += 400) {
      pen.beginPath();
      for (const edge of edges.slice(at, at + 400)) {
        pen.moveTo(screenX(edgeFrom[edge]), screenY(edgeFrom[edge]));
        pen.lineTo(screenX(edgeTo[edge]), screenY(edgeTo[edge]));
      }
      pen.stroke();
    }
  }
  pen.globalAlpha = 1;
  for (let group = 0; group < data.colours.length; group++) {
    pen.fillStyle = data.colours[group];
    pen.beginPath();
    for (const node of focus.nodes) {
      if (groupOf[node] === group) circle(pen, screenX(node), screenY(node), Math.max(2.2, screenRadius(node, factor)));
    }
    pen.fill();
  }
  if (focus.node >= 0) {
    const x = screenX(focus.node), y = screenY(focus.node), radius = Math.max(3, screenRadius(focus.node, factor));
    pen.fillStyle = data.colours[groupOf[focus.node]];
    pen.strokeStyle = style.ink;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.fill();
    pen.stroke();
    writeName(pen, focus.node, x, y, radius, taken, true);
  }
  let written = 0;
  for (const node of focus.nodes) {
    if (written >= 24) break;
    const x = screenX(node), y = screenY(node);
    if (node !== focus.node && inSight(x, y, 0) && writeName(pen, node, x, y, screenRadius(node, factor), taken, false)) written++;
  }
}
