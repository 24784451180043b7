// The cells of a sweep: found by the values of their axes, laid out along an axis and in lines.

// Know the place of each value of each axis, and the row at each combination of them.
function cellsOf(rows, axes) {
  const where = axes.map((axis) => new Map(axis.values.map((value, k) => [JSON.stringify(value), k])));
  const held = new Map();
  rows.forEach((row, k) => held.set(axes.map((axis, a) => where[a].get(JSON.stringify(row[axis.name]))).join(","), { row, k }));
  return { at: (place) => held.get(place.join(",")) ?? null };
}

// Return the cells that are shown, line by line: { row, k, x, line } with places on the axis across and that of lines.
function selection(sweep, state) {
  const lines = state.line === null ? [null] : sweep.axes[state.line].values.map((_, k) => k);
  return lines.flatMap((line) => sweep.axes[state.x].values.map((_, x) => {
    const place = sweep.axes.map((_, a) => (a === state.x ? x : a === state.line ? line : state.slices[a]));
    const cell = sweep.cells.at(place);
    return cell && { ...cell, x, line: line ?? 0 };
  })).filter(Boolean);
}

const titled = (quantity) =>
  quantity.unit && !quantity.label.includes(quantity.unit) ? `${quantity.label} [${quantity.unit}]` : quantity.label;

// Say which cells reach a target: with their value, and with the whole of their interval.
function reaching(quantity, target, estimates) {
  const less = quantity.less_is_better;
  return estimates.map((one) => {
    if (!known(one.value)) return "no value";
    if (less ? one.value > target : one.value < target) return "no";
    const end = less ? one.high : one.low;
    if (!known(end)) return one.mcse === 0 && one.n === 0 ? "yes" : "value only";
    return (less ? end <= target : end >= target) ? "yes" : "value only";
  });
}

function targetSentences(quantity, target, named, reached) {
  const of = (kind) => named.filter((_, k) => reached[k] === kind);
  const [sure, hardly, none] = [of("yes"), of("value only"), of("no value")];
  const wanted = `${quantity.label} of at ${quantity.less_is_better ? "most" : "least"} ${plain(target)}`;
  const several = (cells) => (cells.length > 8 ? `${cells.slice(0, 8).join("; ")}; and ${cells.length - 8} more in the table` : cells.join("; "));
  const n = sure.length + hardly.length;
  const said = [`${wanted}: ${n} of the ${counted(named.length, "cell")} shown ${n === 1 ? "reaches" : "reach"} it with ${n === 1 ? "its" : "their"} value.`];
  if (sure.length) said.push(`With the whole 95 % interval: ${several(sure)}.`);
  if (hardly.length) said.push(`With the value only, the interval reaches beyond the target: ${several(hardly)}.`);
  if (n && !sure.length) said.push("None does with its whole 95 % interval.");
  if (none.length) said.push(`Without a value: ${several(none)}.`);
  return said;
}
