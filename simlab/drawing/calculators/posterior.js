// The posterior of the share alpha of adequate outputs by quadrature: what simlab.analysis.adequacy does, number by
// number (plans.py, quadrature.py, nodes.py, likelihood.py, inverse.py). RULES holds simlab's own constants and nodes.
"use strict";

const xlogy = (x, y) => (x === 0 ? 0 : x * Math.log(y));
const xlog1py = (x, y) => (x === 0 ? 0 : x * Math.log1p(y));
const sum = (values) => values.reduce((total, x) => total + x, 0);

/** Round half to even, as the published calculator does. */
function even(x) {
  const low = Math.floor(x);
  if (x - low !== 0.5) return Math.round(x);
  return low % 2 === 0 ? low : low + 1;
}

/** Set each count to its expectation, rounded or not; rho + eta < 1 is turned round. */
function expected(plan, whole) {
  const near = whole ? even : (x) => x;
  const flipped = plan.rho + plan.eta < 1;
  const rho = flipped ? 1 - plan.rho : plan.rho, eta = flipped ? 1 - plan.eta : plan.eta;
  const q = plan.alpha * (rho + eta - 1) + 1 - eta;
  const counts = {
    nPlus: near(plan.alpha * plan.n_human), n: plan.n_human,
    mPlus: near(q * plan.n_metric), m: plan.n_metric, rho, eta, calibration: null,
  };
  if (plan.n_calibration !== null) {
    const p = near(plan.alpha * plan.n_calibration), n = plan.n_calibration - p;
    counts.calibration = [near(rho * p), p, near(eta * n), n];
  }
  return counts;
}

/** Give the measurable difference of a plan: a share; 1 by convention where nothing is rated. */
function epsilonOf(plan, whole = true) {
  if (plan.n_human + plan.n_metric === 0) return 1;
  const counts = expected(plan, whole);
  return RULES.critical * Math.SQRT2 * (counts.m > 0 ? mixedSd(counts) : humanSd(counts));
}

/** Give the standard deviation of Beta(n_plus + 1, n - n_plus + 1). */
function humanSd(counts) {
  const mean = (counts.nPlus + 1) / (counts.n + 2);
  return Math.sqrt(mean * (1 - mean) / (counts.n + 3));
}

function mixedSd(counts) {
  const human = (a) => xlogy(counts.nPlus, a) + xlog1py(counts.n - counts.nPlus, -a);
  const given = counts.calibration === null ? null : evidence(counts);
  const known = (a) => xlogy(counts.mPlus, a * counts.rho + (1 - a) * (1 - counts.eta))
    + xlogy(counts.m - counts.mPlus, a * (1 - counts.rho) + (1 - a) * counts.eta);
  const q = (counts.mPlus + 1) / (counts.m + 2);
  const rule = given === null ? nodes((a) => human(a) + known(a), [])
    : nodes((a) => human(a) + sketch(a, given), [q, 1 - q]);
  const other = given === null ? known : integrated(given);
  return deviation(rule, rule.alpha.map((a) => human(a) + other(a)));
}

/** Give the standard deviation of a density at the nodes of a rule. */
function deviation(rule, logDensity) {
  const top = logDensity.reduce((most, x) => Math.max(most, x), -Infinity);
  const mass = logDensity.map((x, k) => rule.weight[k] * Math.exp(x - top));
  const total = sum(mass);
  const mean = sum(mass.map((x, k) => x * rule.alpha[k])) / total;
  return Math.sqrt(sum(mass.map((x, k) => x * (rule.alpha[k] - mean) ** 2)) / total);
}

/** Share out panels evenly over a density, in t = arcsin(sqrt(alpha)), and put Gauss-Legendre nodes in each. */
function nodes(logDensity, kinks) {
  let edges = Array.from({length: RULES.cells + 1}, (_, k) => (Math.PI / 2) * k / RULES.cells);
  for (let left = RULES.rounds - 1; left >= 0; left--) {
    const height = edges.slice(1).map((edge, k) => logDensity(Math.sin((edge + edges[k]) / 2) ** 2));
    edges = quantiles(edges, tempered(height, edges), left ? RULES.refining : RULES.panels);
  }
  edges = cut(edges.map((t) => Math.sin(t) ** 2), kinks);
  const rule = {alpha: [], weight: []};
  for (let k = 0; k + 1 < edges.length; k++) {
    const width = edges[k + 1] - edges[k];
    RULES.panel.node.forEach((node, j) => {
      rule.alpha.push(edges[k] + width * node);
      rule.weight.push(width * RULES.panel.weight[j]);
    });
  }
  return rule;
}

/** Add an edge at each kink; one that lies beyond all panels cuts a middle one instead. */
function cut(edges, kinks) {
  const half = Math.floor(edges.length / 2), last = edges[edges.length - 1];
  const added = kinks.map((kink, k) =>
    kink <= edges[0] || kink >= last ? (edges[half + k - 1] + edges[half + k]) / 2 : kink);
  return edges.concat(added).sort((a, b) => a - b);
}

function tempered(height, edges) {
  const top = Math.max(...height);
  const mass = height.map((x, k) => Math.exp(RULES.temper * (x - top)) * (edges[k + 1] - edges[k]));
  const total = sum(mass), share = mass.map((x) => x / total);
  // A peak on the border of two cells must not be lost to one of them.
  return share.map((x, k) =>
    (k === 0 || k === share.length - 1 ? x : (share[k - 1] + 2 * x + share[k + 1]) / 4));
}

function quantiles(edges, mass, wanted) {
  const below = [0];
  mass.forEach((x) => below.push(below[below.length - 1] + x));
  const total = below[below.length - 1];
  let k = 0;
  return wanted.map((p) => {
    while (k + 2 < below.length && below[k + 1] / total <= p) k++;
    const low = below[k] / total, high = below[k + 1] / total;
    return high > low ? edges[k] + Math.min((p - low) / (high - low), 1) * (edges[k + 1] - edges[k]) : edges[k];
  });
}

/** Turn counts into Beta parameters of U = rho, V = 1 - eta and Q, what the metric calls adequate. */
function evidence(counts) {
  const [tp, p, tn, n] = counts.calibration;
  const first = [tp + 1, n - tn + 1, counts.mPlus + 1];
  const second = [p - tp + 1, tn + 1, counts.m - counts.mPlus + 1];
  const mean = first.map((a, k) => a / (a + second[k]));
  const sd = mean.map((x, k) => Math.sqrt(x * (1 - x) / (first[k] + second[k] + 1)));
  return {first, second, mean, sd};
}

/** Give roughly the log-likelihood of alpha: means and variances of U, V and Q, with heavy tails. */
function sketch(a, {mean, sd}) {
  const miss = a * mean[0] + (1 - a) * mean[1] - mean[2];
  const variance = (a * sd[0]) ** 2 + ((1 - a) * sd[1]) ** 2 + sd[2] ** 2;
  const z = Math.abs(miss) / Math.sqrt(variance);
  return -(z < 2.5 ? z * z / 2 : 2.5 * z - 3.125) - Math.log(variance) / 2;
}

/** Return the log-likelihood of alpha, up to a constant, with rho and eta integrated out: a density of 0. */
function integrated({first, second, sd}) {
  const outer = sd.indexOf(Math.min(...sd));
  const rest = [0, 1, 2].filter((k) => k !== outer);
  const low = first.map((a, k) => betaTail(a, second[k]));
  const high = first.map((a, k) => 1 - betaTail(second[k], a));
  const rule = jacobi(first[outer], second[outer], RULES.outer);
  return (alpha) => {
    const c = [alpha, 1 - alpha, -1];
    const width = rest.map((k) => (high[k] - low[k]) * Math.abs(c[k]));
    const [y, z] = width[1] < width[0] ? [rest[1], rest[0]] : rest;
    return slices(rule, {
      cx: c[outer], cy: c[y], cz: c[z], low: low[y], high: high[y],
      ay: first[y] - 1, by: second[y] - 1, az: first[z] - 1, bz: second[z] - 1,
    });
  };
}

const inside = (x) => Math.min(Math.max(x, 1e-300), 1 - 1e-16);

/** Integrate over x by a Gauss-Jacobi rule, and over y by a Gauss-Legendre rule where it leaves z within [0, 1]. */
function slices(rule, {cx, cy, cz, low, high, ay, by, az, bz}) {
  const {node, weight} = RULES.inner;
  const logs = new Float64Array(rule.node.length * node.length), parts = new Float64Array(logs.length);
  let top = -Infinity, at = 0;
  for (let j = 0; j < rule.node.length; j++) {
    const left = -cx * rule.node[j], ends = [left / cy, (left - cz) / cy];
    const least = Math.max(low, Math.min(...ends)), most = Math.min(high, Math.max(...ends));
    const width = Math.max(most - least, 0);
    for (let i = 0; i < node.length; i++, at++) {
      const y = least + width * node[i], z = inside((left - cy * y) / cz), x = inside(y);
      logs[at] = ay * Math.log(x) + by * Math.log(1 - x) + az * Math.log(z) + bz * Math.log(1 - z);
      parts[at] = weight[i] * width * rule.weight[j];
      if (logs[at] > top) top = logs[at];
    }
  }
  let total = 0;
  for (let k = 0; k < logs.length; k++) total += parts[k] * Math.exp(logs[k] - top);
  return Math.log(total) + top - Math.log(Math.abs(cz));
}

/** Find the accuracy rho = eta, or the number of ratings, that is just enough: counts at expectation, unrounded. */
function smallest(unknown, plan, difference) {
  const accuracy = unknown === "accuracy";
  const set = (x) => ({...plan, ...(accuracy ? {rho: x, eta: x} : {[unknown]: x})});
  const reached = (x) => epsilonOf(set(x), false);
  const enough = (x) => reached(x) <= difference;
  const most = accuracy ? 1 : RULES.most;
  if (!enough(most)) return {value: null, limit: reached(most)};
  if (accuracy) {
    if (enough(0.500001)) return {value: 0.5};
    return {value: bisected((k) => enough(k * 1e-4), 5000, 10000) / 10000};
  }
  if (enough(0)) return {value: 0};
  let low = 0, high = 1;
  while (!enough(high)) [low, high] = [high, Math.min(2 * high, most)];
  return {value: bisected(enough, low, high)};
}

/** Return a whole number that is enough where the one before is not. */
function bisected(enough, low, high) {
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (enough(middle)) high = middle; else low = middle;
  }
  return high;
}
