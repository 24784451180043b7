// How the measurable difference falls as one number of ratings grows: an SVG, and the table behind it.
"use strict";

/** List about 40 numbers of ratings: every third stop of the slider, all published ones among them. */
function across(name) {
  const published = new Set(DATA.axes[name]);
  return stops[name].filter((n, k) => k % 3 === 0 || published.has(n));
}

function draw(plan) {
  const along = at("along").value;
  if (along === "n_calibration" && plan.n_calibration === null) {
    at("drawing").replaceChildren(element("p", {}, "rho and eta are known: no calibration to vary."));
    at("numbers").replaceChildren();
    return;
  }
  if (along === "n_metric" && idle(plan).length) {
    at("drawing").replaceChildren(element("p", {class: "alert"}, idle(plan)[0]));
    at("numbers").replaceChildren();
    return;
  }
  const points = across(along).map((n) => ({n, epsilon: epsilonOf({...plan, [along]: n})}));
  const here = {n: plan[along], epsilon: epsilonOf(plan)};
  at("drawing").replaceChildren(picture(along, points, here, ofUnit(Number(at("difference").value))));
  tabulate(along, points);
}

/** Place ratings on a logarithmic axis that has room for 0 on its left, and differences on another. */
function axes(points, here, wanted, width, height) {
  const box = {left: 52, right: width - 14, top: 30, bottom: height - 44};
  const all = [...points, here].map((point) => point.epsilon).concat(wanted > 0 && wanted < 1 ? [wanted] : []);
  const low = Math.log(Math.min(...all) / 1.15), high = Math.log(Math.max(...all) * 1.15);
  const first = Math.log(points[1].n), last = Math.log(Math.max(points[points.length - 1].n, here.n));
  const start = box.left + 34;
  const x = (n) => (n <= 0 ? box.left + 8 : Math.max(start + (box.right - start) * (Math.log(n) - first) / (last - first), box.left + 8));
  const y = (epsilon) => box.bottom - (box.bottom - box.top) * (Math.log(epsilon) - low) / (high - low);
  return {box, x, y, low: Math.exp(low), high: Math.exp(high), first: points[1].n, last: Math.exp(last)};
}

function picture(along, points, here, wanted) {
  const width = Math.max(at("drawing").clientWidth, 260), height = Math.min(380, Math.max(280, width * 0.5));
  const frame = axes(points, here, wanted, width, height), {x, y} = frame;
  const last = points[points.length - 1];
  const svg = element("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label":
    `Measurable difference against ${along}: ${told(points[0].epsilon)} at ${points[0].n}, ${told(last.epsilon)} at `
    + `${grouped(last.n)}; ${told(here.epsilon)} at your ${grouped(here.n)}. The table below holds all numbers.`});
  scales(svg, frame, along, width, height);
  if (wanted > frame.low && wanted < frame.high) {
    svg.append(element("line", {class: "wanted", x1: frame.box.left, x2: frame.box.right, y1: y(wanted), y2: y(wanted)}));
    svg.append(element("text", {x: frame.box.right, y: y(wanted) - 6, "text-anchor": "end"}, "wanted"));
  }
  // From 0 to the first number of ratings the axis is not logarithmic: no line there.
  const path = points.slice(1).map((p, k) => `${k ? "L" : "M"}${x(p.n).toFixed(1)} ${y(p.epsilon).toFixed(1)}`).join("");
  svg.append(element("path", {class: "curve", d: path}));
  for (const point of points) svg.append(dot(point, "dot", 3, frame, along));
  svg.append(dot(here, "here", 6, frame, along));
  return svg;
}

function dot(point, kind, radius, {x, y}, along) {
  const made = element("circle", {class: kind, cx: x(point.n), cy: y(point.epsilon), r: radius});
  made.append(element("title", {}, `${along} ${grouped(point.n)}: ${told(point.epsilon)}`));
  return made;
}

function scales(svg, {box, x, y, low, high, first, last}, along, width, height) {
  const decades = (from, to, steps) => Array.from({length: 16}, (_, k) => k - 6)
    .flatMap((k) => steps.map((s) => Number(`${s}e${k}`))).filter((v) => v >= from && v <= to);
  const steps = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8]].find((s) => decades(low, high, s).length >= 3) || [1, 1.2, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9];
  for (const value of decades(low, high, steps)) {
    svg.append(element("line", {class: "grid", x1: box.left, x2: box.right, y1: y(value), y2: y(value)}));
    svg.append(element("text", {x: box.left - 6, y: y(value) + 4, "text-anchor": "end"},
      short(Number((value * scale()).toPrecision(4)))));
  }
  for (const n of [0, ...decades(first, last * 1.0001, [1])]) {
    svg.append(element("line", {class: "grid", x1: x(n), x2: x(n), y1: box.top, y2: box.bottom}));
    const end = x(n) > box.right - 12;
    svg.append(element("text", {x: end ? width : x(n), y: box.bottom + 18, "text-anchor": end ? "end" : "middle"},
      n >= 1e6 ? `${n / 1e6}M` : n >= 1000 ? `${n / 1000}k` : String(n)));
  }
  svg.append(element("text", {x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle"}, `${along} (ratings per system)`));
  svg.append(element("text", {x: 0, y: 14}, `measurable difference (${unit()})`));
}

function tabulate(along, points) {
  const head = element("tr");
  head.append(element("th", {scope: "col"}, along), element("th", {scope: "col"}, `measurable difference (${unit()})`));
  const rows = points.map((point) => {
    const row = element("tr");
    row.append(element("td", {}, grouped(point.n)), element("td", {"data-value": point.epsilon * scale()}, told(point.epsilon)));
    return row;
  });
  at("numbers").replaceChildren(element("caption", {}, "All else as set above"), head, ...rows);
}
