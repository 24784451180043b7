// Special functions that JavaScript lacks: the lower tail of a Beta law, and Gauss-Jacobi rules.
"use strict";

/** Log-gamma of x >= 1 by Stirling's series, reached by recurrence below 10. */
function logGamma(x) {
  let shift = 0;
  while (x < 10) shift += Math.log(x++);
  const y = 1 / (x * x);
  const series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series - shift;
}

/** Return the continued fraction of the incomplete Beta integral (Lentz's method), for x below its mean. */
function betaFraction(x, a, b) {
  const tiny = 1e-300, apart = (v) => (Math.abs(v) < tiny ? tiny : v);
  let c = 1, d = 1 / apart(1 - (a + b) * x / (a + 1)), value = d;
  for (let k = 1; k < 200000; k++) {
    const even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
    const odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
    let step = 1;
    for (const term of [even, odd]) {
      d = 1 / apart(1 + term * d);
      c = apart(1 + term / c);
      step *= c * d;
    }
    value *= step;
    if (Math.abs(step - 1) < 1e-15) break;
  }
  return value;
}

/** Find x below which Beta(a, b) has the mass RULES.tail, by Newton's method on logarithms, kept in a bracket. */
function betaTail(a, b) {
  const wanted = Math.log(RULES.tail), scale = logGamma(a + b) - logGamma(a) - logGamma(b);
  let low = -750, high = Math.log(a / b), t = high - 6 * Math.sqrt(1 / a + 1 / b);
  for (let k = 0; k < 200; k++) {
    if (!(t > low && t < high)) t = (low + high) / 2;
    // x = 1 / (1 + exp(-t)); logarithms of x and 1 - x without loss on either side.
    const x = 1 / (1 + Math.exp(-t)), logX = -Math.log1p(Math.exp(-t)), logRest = -Math.log1p(Math.exp(t));
    const fraction = betaFraction(x, a, b);
    const miss = scale + a * logX + b * logRest - Math.log(a) + Math.log(fraction) - wanted;
    if (miss > 0) high = t; else low = t;
    // d log I / dt = density * x (1 - x) / I = a / fraction.
    const step = miss * fraction / a;
    t -= step;
    if (Math.abs(step) < 1e-14 * Math.max(1, Math.abs(t)) || high - low < 1e-15 * Math.abs(t)) break;
  }
  return 1 / (1 + Math.exp(-t));
}

/** Return k nodes and weights that integrate polynomials over Beta(first, second) exactly (Golub and Welsch 1969). */
function jacobi(first, second, k) {
  const a = second - 1, b = first - 1, diagonal = [], beside = [];
  for (let j = 0; j < k; j++) {
    const s = 2 * j + a + b;
    const at = j === 0 ? (b - a) / (a + b + 2) : (b * b - a * a) / (s * (s + 2));
    diagonal.push((1 + at) / 2);
    if (j === 0) continue;
    const square = j === 1 ? 4 * (1 + a) * (1 + b) / ((2 + a + b) ** 2 * (3 + a + b))
      : 4 * j * (j + a) * (j + b) * (j + a + b) / (s * s * (s + 1) * (s - 1));
    beside.push(Math.sqrt(square) / 2);
  }
  return eigen(diagonal, beside);
}

/** Return eigenvalues of a symmetric tridiagonal matrix and the squared first parts of its vectors (implicit QL). */
function eigen(diagonal, beside) {
  const d = diagonal.slice(), e = beside.concat(0), first = d.map((_, k) => (k === 0 ? 1 : 0)), size = d.length;
  for (let l = 0; l < size; l++) {
    for (let round = 0; round < 60; round++) {
      let m = l;
      while (m < size - 1 && Math.abs(e[m]) > 1e-17 * (Math.abs(d[m]) + Math.abs(d[m + 1]))) m++;
      if (m === l) break;
      sweep(d, e, first, l, m);
    }
  }
  return {node: d, weight: first.map((x) => x * x)};
}

function sweep(d, e, first, l, m) {
  let g = (d[l + 1] - d[l]) / (2 * e[l]), r = Math.hypot(g, 1);
  g = d[m] - d[l] + e[l] / (g + (g < 0 ? -r : r));
  let s = 1, c = 1, p = 0;
  for (let i = m - 1; i >= l; i--) {
    const f = s * e[i], b = c * e[i];
    r = Math.hypot(f, g);
    e[i + 1] = r;
    if (r === 0) { d[i + 1] -= p; e[m] = 0; return; }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    r = (d[i] - g) * s + 2 * c * b;
    p = s * r;
    d[i + 1] = g + p;
    g = c * r - b;
    const next = first[i + 1];
    first[i + 1] = s * first[i] + c * next;
    first[i] = c * first[i] - s * next;
  }
  d[l] -= p;
  e[l] = g;
  e[m] = 0;
}
