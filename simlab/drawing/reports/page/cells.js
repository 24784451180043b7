// The cells of a sweep: found by the values of their axes, laid out along an axis and in lines.

// Know the place of each value of each axis, and the row at each combination of them.
function cellsOf(rows, axes) {
  const where = axes.map((axis) => new Map(axis.values.map((value, k) => [JSON.stringify(value), k])));
  const held = new Map();
  rows.forEach((row, k) => held.set(axes.map((axis, a) => where[a].get(JSON.stringify(row[axis.name]))).join(","), { row, k }));
  return { at: (place) => held.get(place.join(",")) ?? null };
}

// Name the axes along which cells are shown: lines, those of which all values are wanted, and the one across.
function shownAxes({ axes }, state) {
  const whole = axes.map((_, a) => a).filter((a) => a !== state.x && a !== state.line && state.slices[a] === null);
  return [...(state.line === null ? [] : [state.line]), ...whole, state.x];
}

// Return the cells that are shown, line by line: { row, k, place, x, line } with places on all axes.
function selection(sweep, state) {
  let places = [sweep.axes.map((_, a) => state.slices[a])];
  for (const axis of shownAxes(sweep, state)) {
    places = places.flatMap((place) => sweep.axes[axis].values.map((_, k) => place.with(axis, k)));
  }
  return places.map((place) => {
    const cell = sweep.cells.at(place);
    return cell && { ...cell, place, x: place[state.x], line: state.line === null ? 0 : place[state.line] };
  }).filter(Boolean);
}

// Tell which cells no other shown cell beats: none is as good for less, or better for as much.
function front(quantity, estimates, costs) {
  const sign = quantity.less_is_better ? -1 : 1;
  const at = estimates.map((one, k) => [known(one.value) ? sign * one.value : NaN, known(costs[k]) ? costs[k] : NaN]);
  const beats = ([value, cost], [other, dearer]) => value >= other && cost <= dearer && (value > other || cost < dearer);
  return at.map((one) => one.every(known) && !at.some((other) => beats(other, one)));
}

// Say in the order of costs which designs are on the front.
function frontSentence(cost, named, texts, costs, chosen) {
  const held = costs.map((_, k) => k).filter((k) => chosen[k]).sort((a, b) => costs[a] - costs[b]);
  const said = held.slice(0, 8).map((k) => `${named[k]} (${plain(costs[k])}: ${texts[k]})`);
  const more = held.length > 8 ? `; and ${held.length - 8} more in the table` : "";
  return `Ringed: no other design shown is as good for less ${short(cost.label)}. At rising cost: ${said.join("; ")}${more}.`;
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
