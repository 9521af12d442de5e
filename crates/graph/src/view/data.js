// What is in the page: nodes by number, highest rank first, and the lists of who links to whom.
const data = JSON.parse(document.getElementById("data").textContent);
const count = data.names.length;
const xs = Float64Array.from(data.x), ys = Float64Array.from(data.y), radii = Float64Array.from(data.radius);
const groupOf = Uint8Array.from(data.group);
const edgeCount = data.edges.length / 3;
const edgeFrom = new Uint32Array(edgeCount), edgeTo = new Uint32Array(edgeCount), edgeWeight = new Float64Array(edgeCount);
for (let e = 0; e < edgeCount; e++) {
  edgeFrom[e] = data.edges[3 * e];
  edgeTo[e] = data.edges[3 * e + 1];
  edgeWeight[e] = data.edges[3 * e + 2];
}
data.edges = null;
// A link within a group has its colour, one between groups none.
const neutral = data.colours.length;
const edgeColour = Uint8Array.from(edgeFrom, (from, e) => groupOf[from] === groupOf[edgeTo[e]] ? groupOf[from] : neutral);

const number = (value) => value.toLocaleString("en");
// Where all pages are on one host, its name says nothing.
const origin = (/^https?:\/\/[^/]+/.exec(data.names[0] || "") || [""])[0];
const isOneHost = origin !== "" && data.names.every((name) => name.startsWith(origin + "/"));
const shortName = (node) => isOneHost ? data.names[node].slice(origin.length) : data.names[node].replace(/^https?:\/\/(www\.)?/, "").replace(/\/$/, "");
// The small groups share a colour and are not named in the data: there the host speaks for them.
const groupName = (node) => groupOf[node] < data.groups.length ? data.groups[groupOf[node]][0] : data.names[node].replace(/^https?:\/\//, "").split("/")[0];

// Edges by one of their ends.
function byEnd(ends) {
  const starts = new Uint32Array(count + 1);
  for (const node of ends) starts[node + 1]++;
  for (let node = 0; node < count; node++) starts[node + 1] += starts[node];
  const next = starts.slice(), edges = new Uint32Array(edgeCount);
  for (let e = 0; e < edgeCount; e++) edges[next[ends[e]]++] = e;
  return (node) => edges.subarray(starts[node], starts[node + 1]);
}
const edgesFrom = byEnd(edgeFrom), edgesTo = byEnd(edgeTo);

// Squares of the plane with the nodes in each, to find what is under the pointer.
const cellSide = 100;
const cells = new Map();
const cellKey = (column, row) => (column + 32768) * 65536 + row + 32768;
for (let node = 0; node < count; node++) {
  const key = cellKey(Math.floor(xs[node] / cellSide), Math.floor(ys[node] / cellSide));
  if (cells.has(key)) cells.get(key).push(node);
  else cells.set(key, [node]);
}

// The node at a point of the plane; `reach` says how far from a node's middle still counts.
function nodeAt(x, y, reach, farthest) {
  let best = -1, least = Infinity;
  const first = Math.floor((x - farthest) / cellSide), last = Math.floor((x + farthest) / cellSide);
  const top = Math.floor((y - farthest) / cellSide), bottom = Math.floor((y + farthest) / cellSide);
  for (let column = first; column <= last; column++) {
    for (let row = top; row <= bottom; row++) {
      for (const node of cells.get(cellKey(column, row)) || []) {
        const distance = Math.hypot(xs[node] - x, ys[node] - y) - reach(node);
        if (distance < 0 && distance < least) [best, least] = [node, distance];
      }
    }
  }
  return best;
}

const lowered = data.names.map((name) => name.toLowerCase());

// Names with all the words in them; those that begin so come first, then those of higher rank.
function search(text, most) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const begins = [], within = [];
  for (let node = 0; node < count && begins.length < most; node++) {
    const name = lowered[node];
    if (!words.every((word) => name.includes(word))) continue;
    const start = name.replace(/^https?:\/\/(www\.)?/, "");
    (name.startsWith(words[0]) || start.startsWith(words[0]) ? begins : within).push(node);
  }
  return begins.concat(within).slice(0, most);
}
