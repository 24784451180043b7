// A sweep to look at from all sides: measure, axes, slices, cost and target are chosen, and everything follows.

function startExplorer(figure, block, data) {
  const rows = Array.isArray(data) ? data : [];
  const sweep = { ...block, rows, cells: cellsOf(rows, block.axes) };
  const index = (name) => Math.max(block.axes.findIndex((axis) => axis.name === name), 0);
  const x = index(block.x), line = block.line === null ? null : index(block.line);
  const state = {
    measure: block.measures.findIndex((one) => one.name === block.measure), x, line: line === x ? null : line,
    slices: block.axes.map(() => 0), cost: "", targets: new Map([[block.measure, block.target]]),
  };
  const parts = {
    controls: figure.querySelector(".controls"), place: figure.querySelector(".chart"),
    said: figure.querySelector(".said"), caption: figure.querySelector(".under"), behind: figure.querySelector(".behind-it"),
  };
  const show = () => showExplorer(sweep, state, parts);
  const again = (focus) => {
    parts.controls.replaceChildren(...explorerControls(sweep, state, show, again));
    if (focus) parts.controls.querySelector(`[data-control="${focus}"]`)?.focus();
    return show();
  };
  parts.controls.hidden = false;
  figure.querySelector(".buttons").append(
    button("csv", "Selection as csv", () => explorerCsv(sweep, state)),
    button("svg", "Figure as SVG", async () => download(`${fileName(sweep.measures[state.measure].name)}.svg`,
      "image/svg+xml", await svgOf(parts.place.figure, block.question))));
  return again();
}

function explorerControls(sweep, state, show, again) {
  const axes = sweep.axes.map((axis, k) => [k, axis.label]);
  const measures = sweep.measures.map((one, k) => [k, titled(one)]);
  const pick = (key, focus) => (value) => { choose(state, key, value); again(focus); };
  const made = [
    select("measure", "Measure", measures, state.measure, pick("measure", "measure")),
    select("x", "Across", axes, state.x, pick("x", "x")),
    select("line", "Lines", [["", "none"], ...axes.filter(([k]) => k !== state.x)], state.line ?? "", pick("line", "line")),
    ...sweep.axes.flatMap((axis, k) => (k === state.x || k === state.line ? [] : [sliceControl(axis, k, state, show)])),
  ];
  if (sweep.costs.length) made.push(costControl(sweep, state, again));
  return [...made, targetControl(sweep, state, show)];
}

// Where costs go across, a design is where it costs: then all values of a further axis can be shown at once.
function sliceControl(axis, k, state, show) {
  const all = state.cost === "" ? [] : [["all", "all"]], values = axis.labels.map((label, place) => [place, label]);
  return select(`slice-${k}`, axis.label, [...all, ...values], state.slices[k] ?? "all",
    (value) => { state.slices[k] = value === "all" ? null : Number(value); show(); });
}

function costControl(sweep, state, again) {
  const of = (name) => titled(sweep.measures.find((one) => one.name === name) ?? { label: name, unit: "" });
  const costs = [["", "no: the axis across"], ...sweep.costs.map((name, k) => [k, of(name)])];
  return select("cost", "At equal cost", costs, state.cost, (value) => {
    state.cost = value;
    if (value === "") state.slices = state.slices.map((place) => place ?? 0);
    again("cost");
  });
}

function targetControl(sweep, state, show) {
  const measure = sweep.measures[state.measure].name;
  const control = element("input", { type: "number", step: "any", inputmode: "decimal", "data-control": "target",
    value: state.targets.get(measure) ?? "", placeholder: "none" });
  control.addEventListener("input", () => {
    state.targets.set(measure, control.value === "" ? null : Number(control.value));
    show();
  });
  return labelled("Target", control);
}

function choose(state, key, value) {
  const before = state.x;
  state[key] = value === "" ? null : Number(value);
  // An axis goes one way only: what was across takes the place of the lines that go across now.
  if (key === "x" && state.line === state.x) state.line = before;
}

function showExplorer(sweep, state, parts) {
  const quantity = sweep.measures[state.measure], cells = selection(sweep, state);
  const estimates = cells.map((cell) => estimate(cell.row, quantity.name));
  const target = state.targets.get(quantity.name) ?? null;
  const cost = state.cost === "" ? null : sweep.measures.find((one) => one.name === sweep.costs[state.cost]);
  const costs = cells.map((cell) => (cost ? cell.row[cost.name] ?? null : null)), axes = shownAxes(sweep, state);
  const seen = { sweep, state, axes, quantity, cells, estimates, texts: written(estimates), target, cost, costs };
  seen.named = cells.map((cell) => axes.map((axis) => axisSays(sweep.axes[axis], cell.place[axis])).join(", "));
  seen.reached = known(target) ? reaching(quantity, target, estimates) : null;
  seen.front = cost ? front(quantity, estimates, costs) : null;
  const said = [...(seen.reached ? targetSentences(quantity, target, seen.named, seen.reached) : []),
    ...(cost ? [frontSentence(cost, seen.named, seen.texts, costs, seen.front)] : [])];
  parts.said.replaceChildren(...[...said, ...undefinedSentences(seen)].map((text) => element("p", { text, dir: "auto" })));
  parts.caption.textContent = explorerCaption(seen);
  parts.behind.replaceChildren(explorerTable(seen));
  return draw(parts.place, explorerFigure(seen, parts.place));
}

const axisSays = (axis, k) => (axis.numeric ? `${short(axis.label)} ${axis.labels[k]}` : short(axis.labels[k]));

function slicesSaid({ sweep, state, axes }) {
  return sweep.axes.flatMap((axis, k) => (axes.includes(k) ? [] : [`${short(axis.label)}: ${short(axis.labels[state.slices[k]])}`]));
}

// Measures that have no value in a cell say why, in words.
function undefinedSentences({ cells, estimates, quantity }) {
  const reasons = new Map();
  estimates.forEach((one) => {
    if (!known(one.value)) reasons.set(one.reason ?? "not known", (reasons.get(one.reason ?? "not known") ?? 0) + 1);
  });
  return [...reasons].map(([reason, n]) => `${quantity.label} has no value in ${n} of the ${counted(cells.length, "cell")} shown: ${reason}.`);
}

function explorerCaption(seen) {
  const { quantity, cells, estimates, sweep } = seen;
  const fixed = quantity.held_fixed || cells[0]?.row.held_fixed?.[quantity.name];
  const clusters = estimates.map((one) => one.clusters).filter((n) => n > 0);
  const over = quantity.cluster === "replicate" ? "campaigns" : `${quantity.cluster}s`;
  const bands = `${clusters.length ? "Bands and bars: 95 % intervals over" : "Calculated: no sampling error, no"} ${clusters.length ? over : "intervals"}`;
  const parts = [bands, fixed && `held fixed: ${fixed}`, slicesSaid(seen).length && `shown at ${slicesSaid(seen).join(", ")}`,
    sweep.axes.length > 1 && clusters.length && "designs share what they are replicated over, so overlapping intervals can still differ"];
  return `${parts.filter(Boolean).join("; ")}.`;
}

function explorerFigure(seen, place) {
  const { sweep, state, quantity, cells, estimates, texts, cost, costs, target } = seen;
  const across = sweep.axes[state.x], line = state.line === null ? null : sweep.axes[state.line];
  const numbers = across.numeric && across.values.length > 1;
  const xs = cells.map((cell, k) => (cost ? costs[k] : numbers ? across.values[cell.x] : String(cell.x)));
  const marks = cells.map((cell, k) => ({ x: xs[k], y: estimates[k].value, low: estimates[k].low, high: estimates[k].high, line: String(cell.line), k, chosen: Boolean(seen.front?.[k]) }));
  const width = place.getBoundingClientRect().width;
  return {
    // Lines join designs along one axis only.
    kind: cost ? (seen.axes.length > 2 ? "scatter" : "costs") : numbers ? "lines" : "points",
    // Without a number on both axes there is no place for a mark; the table says why.
    marks: cost ? marks.filter((mark) => known(mark.x)) : marks.filter((mark) => numbers || known(mark.y)),
    wanted: known(target) ? [{ y: target, label: `target ${plain(target)}` }] : [],
    across: across.labels, names: line ? line.labels : [""], legend: line ? line.label : "",
    x: cost ? { title: titled(cost), scale: { domain: span(costs), nice: false, zero: false }, axis: { grid: false } }
      : numbers ? numbersAxis(across.label, across.values) : optionsAxis(across.label, across.labels, width - 70),
    y: { title: titled(quantity), scale: valuesScale(estimates, target, quantity.low, quantity.high), axis: {} },
    height: width < 560 ? 280 : 340,
    alt: explorerAlt(seen),
    hover: (mark) => explorerHover(seen, mark.k, texts[mark.k]),
  };
}

function explorerAlt({ sweep, state, quantity, estimates, texts, cost }) {
  const held = estimates.map((one, k) => [one.value, texts[k]]).filter(([value]) => known(value)).sort((a, b) => a[0] - b[0]);
  const line = state.line === null ? "" : `, a line for each ${short(sweep.axes[state.line].label)}`;
  const against = cost ? titled(cost) : sweep.axes[state.x].label;
  const from = held.length ? `from ${held[0][1]} to ${held.at(-1)[1]}` : "no value";
  return `${titled(quantity)} against ${short(against)}${line}: ${from} in ${counted(estimates.length, "cell")}. The table behind the figure has every value with its error.`;
}

function explorerHover(seen, k, text) {
  const { quantity, estimates, cells, named, cost, reached } = seen, one = estimates[k];
  const fixed = quantity.held_fixed || cells[k].row.held_fixed?.[quantity.name];
  const cluster = quantity.cluster === "replicate" ? "campaign" : quantity.cluster;
  const lines = [[quantity.label, text], ["95 % interval", interval(one, 3)], ["Monte-Carlo error", plain(one.mcse)],
    ["from", listed([counted(one.clusters ?? 0, cluster), ...(cluster === "campaign" ? [] : [counted(one.n ?? 0, "campaign")])])],
    one.failed ? ["failed campaigns", plain(one.failed)] : null, cost && [titled(cost), plain(cells[k].row[cost.name])],
    fixed ? ["held fixed", fixed] : null, reached && ["reaches the target", reached[k]],
    seen.front?.[k] && ["on the front", "no other is as good for less"],
    ...slicesSaid(seen).map((said) => ["at", said])];
  return [named[k], ...lines.filter(Boolean)];
}

function explorerTable(seen) {
  const { sweep, axes, quantity, cells, estimates, texts, cost, reached } = seen;
  const columns = [...axes.map((axis) => sweep.axes[axis].label), titled(quantity), "95 % interval", `${quantity.cluster}s`, "campaigns",
    ...(cost ? [titled(cost), "on the front"] : []), ...(reached ? ["reaches the target"] : [])];
  const costs = cost ? cells.map((cell) => estimate(cell.row, cost.name)) : [], costTexts = written(costs);
  const rows = cells.map((cell, k) => ({ data: { "data-row": cell.k }, cells: [
    ...axes.map((axis) => ({ text: sweep.axes[axis].labels[cell.place[axis]], numeric: sweep.axes[axis].numeric })),
    valueCell(quantity, estimates[k], texts[k]), { text: interval(estimates[k], 3), numeric: true },
    { text: plain(estimates[k].clusters), numeric: true }, { text: plain(estimates[k].n), numeric: true },
    ...(cost ? [valueCell(cost, costs[k], costTexts[k]), seen.front[k] ? "yes" : "no"] : []), ...(reached ? [reached[k]] : []),
  ] }));
  const at = slicesSaid(seen);
  return table(`${titled(quantity)} of the ${counted(cells.length, "cell")} shown${at.length ? `, at ${at.join(", ")}` : ""}`, columns, rows);
}

// What is shown is rounded; what a program reads is not.
function valueCell(quantity, one, text) {
  return { text: known(one.value) ? text : one.reason ?? "-", numeric: known(one.value), data: {
    "data-measure": quantity.name, "data-value": one.value, "data-mcse": one.mcse, "data-n": one.n,
    "data-clusters": one.clusters, "data-low": one.low, "data-high": one.high,
  } };
}

// The rows of the selection as `query --format csv` has them, of the measures that are shown.
function explorerCsv(sweep, state) {
  const cells = selection(sweep, state), measure = sweep.measures[state.measure].name;
  const measures = [measure, ...(state.cost === "" ? [] : [sweep.costs[state.cost]])];
  const ends = ["", "_mcse", "_n", "_clusters", "_low", "_high", "_failed", "_reason"];
  const wanted = new Set([...sweep.axes.map((axis) => axis.name), ...measures.flatMap((name) => ends.map((end) => name + end))]);
  const columns = [...new Set(cells.flatMap((cell) => Object.keys(cell.row)))].filter((name) => wanted.has(name));
  download(`${fileName(...measures)}.csv`, "text/csv", csvOf(columns, cells.map((cell) => columns.map((name) => cell.row[name]))));
}
