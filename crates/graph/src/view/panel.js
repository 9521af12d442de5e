// What stands beside the picture: search, legend, the selected node.
const panel = document.getElementById("panel"), tip = document.getElementById("tip");
const field = document.getElementById("search"), hits = document.getElementById("hits");
const legend = document.getElementById("legend"), spoken = document.getElementById("spoken");
const mostListed = 200;
let selected = -1, hovered = -1, shownGroup = -1, active = -1, found = [];

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

const dot = (group) => {
  const made = element("span", { className: "dot" });
  made.style.background = data.colours[group];
  return made;
};

const rankText = (node) => data.rank[node] >= 0.001 ? (100 * data.rank[node]).toFixed(2) + " %" : data.rank[node].toExponential(2);

// What stands out: the node pointed at, else the selected one, else a group, else nothing.
function refocus() {
  const node = hovered >= 0 ? hovered : selected;
  if (node >= 0) {
    const outgoing = Array.from(edgesFrom(node)), incoming = Array.from(edgesTo(node));
    const nodes = new Set([node, ...outgoing.map((e) => edgeTo[e]), ...incoming.map((e) => edgeFrom[e])]);
    focus = { node, outgoing, incoming, nodes: Array.from(nodes).sort((a, b) => a - b) };
  } else if (shownGroup >= 0) {
    const nodes = [];
    for (let other = 0; other < count; other++) if (groupOf[other] === shownGroup) nodes.push(other);
    focus = { node: -1, outgoing: [], incoming: [], nodes };
  } else {
    focus = null;
  }
  drawMarks();
}

function hover(node, x, y) {
  if (node !== hovered) {
    hovered = node;
    stage.classList.toggle("over", node >= 0);
    refocus();
  }
  tip.hidden = node < 0;
  if (node < 0) return;
  tip.replaceChildren(element("b", { textContent: data.names[node] }),
    element("span", { className: "number", textContent: `rank ${rankText(node)} · ${number(data.incoming[node])} in · ${number(data.outgoing[node])} out` }));
  tip.style.left = Math.max(8, Math.min(x + 14, view.width - tip.offsetWidth - 8)) + "px";
  tip.style.top = (y + 18 + tip.offsetHeight > view.height ? y - tip.offsetHeight - 10 : y + 18) + "px";
}

function select(node, isCentred) {
  selected = node;
  hover(-1);
  document.body.classList.toggle("selecting", node >= 0);
  panel.hidden = node < 0;
  if (node >= 0) {
    fillPanel(node);
    spoken.textContent = `${data.names[node]} selected, rank ${rankText(node)}, ${data.incoming[node]} links in, ${data.outgoing[node]} out`;
  }
  refocus();
  if (node >= 0 && isCentred) centreOn(node);
}

function fillPanel(node) {
  const close = element("button", { type: "button", className: "close", textContent: "×", onclick: () => select(-1) });
  close.setAttribute("aria-label", "Close");
  const name = data.names[node], isUrl = /^https?:\/\//.test(name);
  const heading = element("h2", {}, isUrl ? element("a", { href: name, target: "_blank", rel: "noopener noreferrer", textContent: name }) : name);
  const fact = (term, value) => element("div", {}, element("dt", { textContent: term }), element("dd", { textContent: value }));
  const others = (edges, end) => Array.from(edges, (e) => [end[e], edgeWeight[e]]).sort((a, b) => a[0] - b[0]);
  panel.replaceChildren(
    element("header", {}, heading, element("div", { className: "group" }, dot(groupOf[node]), groupName(node)), close),
    element("dl", {}, fact("Rank", rankText(node)), fact("Links in", number(data.incoming[node])), fact("Links out", number(data.outgoing[node]))),
    element("div", { className: "lists", tabIndex: -1 },
      ...neighbours("Linked from", "in", others(edgesTo(node), edgeFrom), data.incoming[node]),
      ...neighbours("Links to", "out", others(edgesFrom(node), edgeTo), data.outgoing[node])));
}

function neighbours(title, mark, nodes, all) {
  const listed = nodes.slice(0, mostListed).map(([node, weight]) => {
    const button = element("button", { type: "button", title: data.names[node], onclick: () => select(node, true) },
      dot(groupOf[node]), element("span", { className: "name", textContent: shortName(node) }));
    if (weight > 1) button.append(element("span", { className: "number", textContent: "×" + number(weight) }));
    return element("li", {}, button);
  });
  const parts = [element("h3", {}, element("i", { className: mark }), `${title} (${number(all)})`), element("ul", {}, ...listed)];
  if (all > listed.length) parts.push(element("p", { className: "more", textContent: `${number(all - listed.length)} more, not drawn or not listed` }));
  return parts;
}

function fillLegend() {
  legend.querySelector("summary").textContent = "Colour by " + data.grouped_by;
  const entry = (group, name, size) => {
    const button = element("button", { type: "button", title: name, onclick: () => {
      shownGroup = shownGroup === group ? -1 : group;
      for (const other of legend.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button && shownGroup >= 0));
      select(-1);
    } }, dot(group), element("span", { className: "name", textContent: name }), element("span", { className: "number", textContent: number(size) }));
    button.setAttribute("aria-pressed", "false");
    return element("li", {}, button);
  };
  const entries = data.groups.map(([name, size], group) => entry(group, name || "(none)", size));
  if (data.other_groups > 0) {
    const rest = count - data.groups.reduce((sum, [, size]) => sum + size, 0);
    entries.push(entry(data.groups.length, `${number(data.other_groups)} others`, rest));
  }
  legend.querySelector("ul").replaceChildren(...entries);
  legend.open = window.innerWidth > 700;
}

function showCounts() {
  const part = (shown, all, noun) => shown < all ? `${number(shown)} of ${number(all)} ${noun}` : `${number(all)} ${noun}`;
  const cut = count < data.all_nodes ? ` (the highest ranks)` : "";
  document.getElementById("counts").textContent = part(count, data.all_nodes, data.noun) + cut + " · " + part(edgeCount, data.all_edges, "links");
}

// The box to search in, as a list that arrow keys go through.
function offer() {
  found = search(field.value, 8);
  active = found.length ? 0 : -1;
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  hits.replaceChildren(...found.map((node, at) => {
    const item = element("li", { id: "hit" + at, onpointerdown: (event) => { event.preventDefault(); choose(at); } }, ...marked(data.names[node], words[0] || ""));
    item.setAttribute("role", "option");
    return item;
  }));
  if (!found.length && words.length) hits.append(element("li", { className: "none", textContent: "Nothing of that name is drawn" }));
  open(words.length > 0);
  showActive();
}

function marked(name, word) {
  const at = word ? name.toLowerCase().indexOf(word) : -1;
  if (at < 0) return [name];
  return [name.slice(0, at), element("mark", { textContent: name.slice(at, at + word.length) }), name.slice(at + word.length)];
}

function open(isOpen) {
  hits.hidden = !isOpen;
  field.setAttribute("aria-expanded", String(isOpen));
}

function showActive() {
  Array.from(hits.children).forEach((item, at) => item.setAttribute("aria-selected", String(at === active)));
  if (active >= 0 && !hits.hidden) {
    field.setAttribute("aria-activedescendant", "hit" + active);
    hits.children[active].scrollIntoView({ block: "nearest" });
  } else field.removeAttribute("aria-activedescendant");
}

function choose(at) {
  if (at < 0 || at >= found.length) return;
  open(false);
  field.blur();
  select(found[at], true);
}

field.addEventListener("input", offer);
field.addEventListener("focus", () => { if (field.value) offer(); });
field.addEventListener("blur", () => open(false));
field.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && found.length) {
    active = (active + step + found.length) % found.length;
    open(true);
    showActive();
  } else if (event.key === "Enter") choose(active);
  else if (event.key === "Escape") {
    if (hits.hidden) field.blur();
    open(false);
  } else return;
  event.preventDefault();
  event.stopPropagation();
});
