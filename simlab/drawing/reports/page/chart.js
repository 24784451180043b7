// A chart of a few marks: drawn, hovered, and handed over as csv and SVG.

function startChart(figure, block) {
  const place = figure.querySelector(".chart");
  figure.querySelector(".buttons").append(
    button("csv", "Values as csv", () => download(`${fileName(block.question)}.csv`, "text/csv", csvOf(...chartRecords(block)))),
    button("svg", "Figure as SVG", async () => download(`${fileName(block.question)}.svg`, "image/svg+xml", await svgOf(place.figure, block.question))));
  return draw(place, chartFigure(block, place));
}

const unique = (texts) => [...new Set(texts.map(String))];

function chartFigure(block, place) {
  const names = unique(block.marks.map((mark) => mark.line ?? "")), width = place.getBoundingClientRect().width;
  const kind = block.kind !== "intervals" && block.marks.some((mark) => typeof mark.x === "string") ? "points" : block.kind;
  const across = kind === "points" ? unique(block.marks.map((mark) => mark.x)) : [];
  const up = kind === "intervals" ? unique(block.marks.map((mark) => mark.y)) : [];
  const estimates = block.marks.map((mark) => ({ ...mark, value: kind === "intervals" ? mark.x : mark.y }));
  const values = { scale: valuesScale(estimates, block.target, ...block.bounds), axis: {} };
  const marks = block.marks.map((mark, k) => ({
    x: across.length ? String(across.indexOf(String(mark.x))) : mark.x, y: up.length ? String(up.indexOf(String(mark.y))) : mark.y,
    low: mark.low, high: mark.high, chosen: Boolean(mark.chosen), line: String(names.indexOf(String(mark.line ?? ""))), k,
  }));
  return {
    kind, marks, across, up, names, legend: block.legend, alt: block.alt, ...axesOf(block, kind, { across, up, values, width }),
    wanted: known(block.target) ? [{ x: block.target, y: block.target, label: block.target === 0 ? "0" : `${block.wanted} ${plain(block.target)}` }] : [],
    equal: block.equal ? span(block.marks.flatMap((mark) => [mark.x, mark.y])).map((end) => ({ x: end, y: end })) : [],
    height: kind === "intervals" ? 60 + up.length * (18 + 8 * Math.min(names.length, 6)) : width < 560 ? 280 : 340,
    hover: ({ k }) => chartHover(block, estimates[k]),
  };
}

function axesOf(block, kind, { across, up, values, width }) {
  if (kind === "intervals") {
    return { x: { title: block.x, ...values }, y: { title: null, scale: { domain: places(up.length) }, axis: { labelLimit: width < 560 ? 110 : 260 } } };
  }
  const numbers = block.marks.map((mark) => mark.x);
  const x = kind === "points" ? optionsAxis(block.x, across, width - 70)
    : kind === "lines" && unique(numbers).length > 1 ? numbersAxis(block.x, numbers)
      : { title: block.x, scale: { domain: span(numbers), nice: false, zero: false }, axis: { grid: false } };
  return { x, y: { title: block.y, ...values } };
}

function chartHover(block, one) {
  const error = one.mcse ?? one.standard_error;
  const digits = decimals([error ?? NaN]);
  const value = known(error) ? measured(one.value, error, digits) : plain(one.value);
  const [name, about] = block.kind === "intervals" ? [one.y, block.x] : [one.line, block.y];
  const lines = [[about, value], known(one.low) && [block.interval, interval(one, Math.max(digits, 3))],
    known(one.clusters) && ["clusters", plain(one.clusters)], known(one.n) && ["n", plain(one.n)],
    block.kind !== "intervals" && [block.x, plain(one.x)], block.kind === "intervals" && one.line && [block.legend || "line", one.line],
    one.chosen && ["chosen", "yes"], one.note && ["note", one.note]];
  return [name || String(plain(one.x)), ...lines.filter(Boolean)];
}

// Columns and rows of a chart's marks; what no mark has is left out.
function chartRecords(block) {
  const keys = ["x", "y", "line", "low", "high", "mcse", "standard_error", "n", "clusters", "chosen", "note"];
  const kept = keys.filter((key) => block.marks.some((mark) => mark[key] != null && mark[key] !== "" && mark[key] !== false));
  const titles = new Map([["x", block.x], ["y", block.y], ["line", block.legend || "line"]]);
  return [kept.map((key) => titles.get(key) || key), block.marks.map((mark) => kept.map((key) => mark[key]))];
}
