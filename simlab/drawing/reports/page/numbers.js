// Numbers as `simlab query` writes them: .83 ± .01. The rules are those of simlab/drawing/text/tables.py.

const FEW_CLUSTERS = 5;
const ROUNDING = 1e-9;

const known = (value) => typeof value === "number" && Number.isFinite(value);

// Show one digit of the smallest error: two decimals at least, three at most.
function decimals(errors) {
  const held = errors.filter((error) => known(error) && error > ROUNDING);
  if (!held.length) return 2;
  return Math.min(Math.max(Math.ceil(-Math.log10(Math.min(...held))), 2), 3);
}

// Round half to even, as Python does: toFixed rounds exact halves up.
function fixed(value, digits) {
  const exact = Math.abs(value).toFixed(Math.min(digits + 40, 100));
  const [kept, rest] = [exact.slice(0, exact.indexOf(".") + 1 + digits), exact.slice(exact.indexOf(".") + 1 + digits)];
  const tie = /^50*$/.test(rest) && "02468".includes(kept.replace(".", "").slice(-1));
  const text = tie ? kept.replace(/\.$/, "") : Math.abs(value).toFixed(digits);
  const shown = Number(text) < 1000 ? text : text.replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ",");
  return value < 0 && Number(text) !== 0 ? `-${shown}` : shown;
}

function number(value, digits) {
  if (!known(value)) return "-";
  const text = fixed(value, digits);
  return Math.abs(value) < 2 && Math.abs(Number(text)) < 1 ? text.replace("0.", ".") : text;
}

// An error of 0 that says only that a few clusters agree is none.
function told(mcse, low, high, clusters) {
  if (!known(mcse)) return null;
  const width = high - low;
  const open = !known(low) || !known(high);
  if (mcse > ROUNDING || (!open && Math.abs(width) <= ROUNDING)) return mcse;
  return !open && clusters >= FEW_CLUSTERS ? mcse : null;
}

// What was counted never, or always, has a bound, rounded outwards.
function bounded(value, mcse, low, high, digits) {
  const unit = 10 ** -digits;
  if (!(mcse < unit / 2) || !(high - low > unit)) return "";
  if (value - low < unit / 2) return `≤ ${number(Math.ceil(high / unit - 1e-9) * unit, digits)}`;
  return high - value < unit / 2 ? `≥ ${number(Math.floor(low / unit + 1e-9) * unit, digits)}` : "";
}

function measured(value, mcse, digits) {
  if (!known(value)) return "-";
  return `${number(value, digits)} ± ${known(mcse) ? number(mcse, digits) : "?"}`;
}

// A measure of a cell, as a program reads it: { value, mcse, n, clusters, low, high, failed, reason }.
function estimate(row, name) {
  const held = (end) => row[`${name}${end}`] ?? null;
  return {
    value: held(""), mcse: held("_mcse"), n: held("_n"), clusters: held("_clusters"),
    low: held("_low"), high: held("_high"), failed: held("_failed"), reason: held("_reason"),
  };
}

// Write estimates with common decimals; those of a calculation have no error.
function written(estimates) {
  const calculated = estimates.every((one) => one.n === 0 && one.mcse === 0);
  const digits = decimals(estimates.map((one) => one.mcse));
  return estimates.map((one) => {
    if (!known(one.value)) return "-";
    if (calculated) return number(one.value, 4);
    const bound = known(one.low) && known(one.high) ? bounded(one.value, one.mcse, one.low, one.high, digits) : "";
    return bound || measured(one.value, told(one.mcse, one.low, one.high, one.clusters), digits);
  });
}

function interval(one, digits) {
  return known(one.low) && known(one.high) ? `${number(one.low, digits)} to ${number(one.high, digits)}` : "-";
}

// Four digits that say something, for numbers of which no error is known.
function plain(value) {
  if (!known(value)) return value == null ? "-" : String(value);
  const held = Math.abs(value) < 1000 && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value;
  const text = held.toLocaleString("en-US", { maximumFractionDigits: Math.abs(held) < 1000 ? 12 : 1 });
  return text.replace(/^(-?)0\./, "$1.");
}
