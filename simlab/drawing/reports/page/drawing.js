// Charts: specifications are filled with data and drawn as SVG by Vega, whose expressions are interpreted, never run.

const COLOURS = LOOK.colours, SHAPES = LOOK.shapes, DASHES = LOOK.dashes;
const AXES = new Set(["x", "y", "low", "high"]);

const turn = (list, length) => Array.from({ length }, (_, k) => list[k % list.length]);
const places = (length) => Array.from({ length }, (_, k) => String(k));

// Fill the specification of a kind of chart. A figure is { kind, marks, wanted, across, up, names, x, y, legend, alt,
// height, hover }: x and y are { title, scale, axis }, names the lines, marks rows of neutral columns.
function filled(figure, width) {
  const spec = structuredClone(SPECS[figure.kind]);
  spec.datasets = { marks: figure.marks, wanted: figure.wanted ?? [], equal: figure.equal ?? [] };
  for (const param of spec.params) param.value = (figure[param.name] ?? []).map((text) => short(text));
  for (const layer of spec.layer) {
    dress(layer.encoding, figure, width);
    // Bands of many lines lie over each other.
    if (layer.mark.type === "area") layer.mark.opacity = Math.min(layer.mark.opacity, 0.8 / (figure.names?.length || 1));
  }
  return { ...spec, width, height: figure.height ?? 300, description: figure.alt, padding: 4,
    autosize: { type: figure.fit ?? "fit-x", contains: "padding" } };
}

function dress(encoding, figure, width) {
  for (const [channel, about] of Object.entries(encoding)) {
    if (channel === "opacity" && width < 480) about.legend.values = [0, 0.5, 1];
    else if (channel in LINE) dressLine(channel, about, figure, width);
    else if ((channel === "x" || channel === "y") && AXES.has(about.field)) dressAxis(about, figure[channel], channel === "x" ? width : figure.height ?? 300);
  }
}

function dressAxis(about, given, room) {
  about.title = given.title ? title(given.title, 90) : null;
  if (given.scale) about.scale = given.scale;
  const ticks = about.type === "quantitative" ? { tickCount: Math.max(3, Math.min(10, Math.floor(room / 70))) } : {};
  about.axis = { ...about.axis, ...ticks, titleLimit: Math.max(120, room - 70), ...given.axis };
}

const LINE = {
  color: (n) => turn(COLOURS, n), shape: (n) => turn(SHAPES, n), strokeDash: (n) => turn(DASHES, n),
  xOffset: null, yOffset: null,
};

// Lines have the colour of their place among all lines, whichever of them are shown.
function dressLine(channel, about, figure, width) {
  const n = figure.names?.length ?? 0;
  about.scale = { domain: places(Math.max(n, 1)) };
  if (LINE[channel]) about.scale.range = LINE[channel](Math.max(n, 1));
  else about.scale.paddingOuter = n > 1 ? 1 : 0;
  if (about.legend === null || !LINE[channel]) return;
  about.title = figure.legend ? title(figure.legend) : null;
  const widest = 46 + 7 * Math.max(...(figure.names ?? []).map((name) => Math.min(Array.from(name).length, 30)), 0);
  about.legend = n > 1 || figure.legend ? { ...about.legend, symbolOpacity: 1, columns: Math.max(1, Math.floor(width / widest)) } : null;
}

function embed(holder, figure, width, question) {
  const spec = filled(figure, width);
  if (question) spec.title = { text: question };
  return vegaEmbed(holder, spec, {
    renderer: "svg", actions: false, ast: true, defaultStyle: false, tooltip: hovering(figure),
  });
}

// Draw a figure into its place, again whenever its width changes; what is drawn last stays.
function draw(place, figure) {
  place.figure = figure;
  place.turn = (place.turn ?? 0) + 1;
  const turned = place.turn, fresh = element("div");
  place.width = Math.floor(place.getBoundingClientRect().width) || 640;
  return embed(fresh, figure, place.width).then((result) => {
    if (turned !== place.turn) return result.finalize();
    place.result?.finalize();
    place.result = result;
    place.setAttribute("aria-label", figure.alt);
    place.replaceChildren(fresh);
    place.dataset.drawn = String(turned);
    hide();
    watched.observe(place);
    return null;
  });
}

const watched = new ResizeObserver((changes) => {
  for (const { target } of changes) {
    const width = Math.floor(target.getBoundingClientRect().width);
    if (width && Math.abs(width - target.width) > 4) {
      clearTimeout(target.waits);
      target.waits = setTimeout(() => draw(target, target.figure), 60);
    }
  }
});

// The figure as a file of its own: light, with its question above it.
async function svgOf(figure, question) {
  const most = 84, lines = [];
  for (const word of short(question, 400).split(/\s+/)) {
    if (lines.length && `${lines.at(-1)} ${word}`.length <= most) lines.push(`${lines.pop()} ${word}`);
    else lines.push(word);
  }
  const result = await embed(element("div"), figure, 720, lines);
  result.view.background("#ffffff");
  await result.view.runAsync();
  const svg = await result.view.toSVG();
  result.finalize();
  return svg;
}

// What is hovered is told in words beside the pointer.
const hint = element("div", { class: "hint", role: "status", hidden: true });
const hide = () => { hint.hidden = true; };

function hovering(figure) {
  return (handler, event, item, value) => {
    if (value == null || value === "" || !item?.datum) return hide();
    const [title, ...lines] = figure.hover(item.datum);
    const rows = lines.map(([label, text]) =>
      element("div", {}, element("span", { text: label }), element("b", { text: short(text, 160), dir: "auto" })));
    hint.replaceChildren(element("strong", { text: short(title, 160), dir: "auto" }), ...rows);
    if (!hint.isConnected) document.body.append(hint);
    hint.hidden = false;
    const room = document.documentElement.clientWidth - hint.offsetWidth - 8;
    const above = event.clientY + hint.offsetHeight + 24 > window.innerHeight;
    hint.style.left = `${Math.max(8, Math.min(event.clientX + 14, room))}px`;
    hint.style.top = `${above ? Math.max(8, event.clientY - hint.offsetHeight - 12) : event.clientY + 14}px`;
    return null;
  };
}

// An axis of options: their places in a list whose labels are written in their stead.
function optionsAxis(title, labels, width) {
  const taken = labels.reduce((sum, label) => sum + 8 + 7 * Math.min(Array.from(label).length, 22), 0);
  return { title, scale: { domain: places(labels.length), paddingInner: 0.25 }, axis: { labelAngle: taken > width ? -35 : 0 } };
}

// Widen a span of values a little, so that marks at its ends are whole.
function span(values, least, most) {
  const held = values.filter(known);
  if (!held.length) return [0, 1];
  let [low, high] = [Math.min(...held), Math.max(...held)];
  if (known(least)) low = Math.max(low, least);
  if (known(most)) high = Math.min(high, most);
  if (low > 0 && low < 0.35 * high) low = 0;
  if (low >= high) [low, high] = [low - (Math.abs(low) || 1) * 0.05, low + (Math.abs(low) || 1) * 0.05];
  const edge = 0.03 * (high - low);
  return [low - edge, high + edge];
}

// Bounds of what is shown: intervals of few clusters do not drown the values.
function valuesScale(points, target, least, most) {
  const values = points.map((one) => one.value).filter(known);
  const room = 2 * (Math.max(...values) - Math.min(...values)) || Infinity;
  const near = (end) => known(end) && end >= Math.min(...values) - room && end <= Math.max(...values) + room;
  const ends = points.flatMap((one) => [one.low, one.high]).filter(near);
  return { domain: span([...values, ...ends, target], least, most), nice: false, zero: false };
}

// Numbers that double from one to the next stand apart on a logarithmic scale.
function numbersAxis(title, values) {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  const [low, high] = [sorted[0], sorted.at(-1)];
  const gap = Math.min(...sorted.slice(1).map((value, k) => value - sorted[k]));
  const log = low > 0 && gap < 0.05 * (high - low) && high / low >= 8;
  const edge = log ? (high / low) ** 0.03 : 0.03 * (high - low);
  const domain = log ? [low / edge, high * edge] : [low - edge, high + edge];
  const axis = sorted.length <= 12 ? { values: sorted, labelOverlap: "greedy" } : { labelOverlap: "greedy" };
  axis.grid = false;
  if (sorted.every(Number.isInteger)) axis.format = ",d";
  const scale = { type: log ? "log" : "linear", domain, nice: false, zero: false };
  return { title: log ? `${title}, logarithmic scale` : title, scale: log ? scale : { domain, nice: false, zero: false }, axis };
}
