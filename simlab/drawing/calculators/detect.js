// The page: reads its fields, tells the measurable difference and its inverse, and draws how it falls.
"use strict";

const DATA = JSON.parse(document.getElementById("simlab-data").textContent);
const RULES = DATA.rules;
const COUNTS = ["n_human", "n_metric", "n_calibration"], SHARES = ["rho", "eta", "alpha"];
const at = (id) => document.getElementById(id);
const stops = {};

/** Write a number as simlab does: fixed decimals, no leading zero. */
function written(value, digits) {
  const text = value.toFixed(digits);
  return Math.abs(Number(text)) < 1 ? text.replace("0.", ".") : text;
}
const inPoints = () => at("points").checked;
const scale = () => (inPoints() ? 100 : 1);
const unit = () => (inPoints() ? "points of adequacy" : "share of adequate outputs");
const grouped = (n) => n.toLocaleString("en");
const short = (x) => String(x).replace(/^0\./, ".");
/** Write a difference with the digits of `simlab detect`. */
function told(epsilon) {
  const digits = epsilon * scale() < (inPoints() ? 1 : 0.01) ? 4 : 3;
  return written(epsilon * scale(), digits - (inPoints() ? 2 : 0));
}
/** Undo the scale of points without leaving rounding behind. */
const ofUnit = (x) => (inPoints() ? Number((x / 100).toPrecision(15)) : x);

function element(name, attributes = {}, text = "") {
  const svg = ["svg", "line", "path", "circle", "text", "title", "g"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

/** List the numbers that a slider of counts stops at: 0, two digits of each decade's 20 steps, the published ones. */
function stopsOf(name) {
  const most = DATA.sliders[name], found = new Set(DATA.axes[name]);
  for (let k = 20; k <= 20 * Math.log10(most) + 1e-9; k++) found.add(Number((10 ** (k / 20)).toPrecision(2)));
  return [...found].sort((a, b) => a - b);
}

function build() {
  for (const name of [...COUNTS, ...SHARES]) {
    const count = COUNTS.includes(name), field = element("div", {class: "field"}), row = element("div", {class: "row"});
    if (count) stops[name] = stopsOf(name);
    const label = element("label", {for: name, id: `${name}-label`}, `${DATA.labels[name]} `);
    label.append(element("code", {}, name));
    const ends = count ? {min: 0, max: stops[name].length - 1, step: 1}
      : {min: name === "alpha" ? 0 : 0.5, max: 1, step: 0.01};
    const slider = element("input", {type: "range", id: `${name}-slider`, "data-control": `${name}-slider`,
      "aria-labelledby": `${name}-label`, ...ends});
    const number = element("input", {type: "number", id: name, "data-control": name, step: count ? 1 : "any", min: 0,
      max: count ? RULES.most : 1});
    number.value = DATA.start[name];
    slider.addEventListener("input", () => {
      number.value = count ? stops[name][Number(slider.value)] : slider.value;
      update();
    });
    number.addEventListener("input", update);
    row.append(slider, number);
    field.append(label, row);
    at("fields").append(field);
  }
  at("difference").value = DATA.start.difference;
}

/** Put a slider where its number is; beyond its ends it stays at the end. */
function follow(name, value) {
  const slider = at(`${name}-slider`), list = stops[name];
  const nearest = (x) => list.reduce((best, stop, k) => (Math.abs(stop - x) < Math.abs(list[best] - x) ? k : best), 0);
  if (Number.isFinite(value)) slider.value = list ? nearest(value) : value;
  slider.dataset.value = value;
  slider.setAttribute("aria-valuetext", Number.isFinite(value) ? `${name} ${grouped(value)}` : "no number");
}

/** Read the fields; the rules are those of `simlab detect`. */
function read() {
  const plan = {}, wrong = [];
  for (const name of [...COUNTS, ...SHARES]) {
    const typed = at(name).value, value = typed === "" ? NaN : Number(typed), count = COUNTS.includes(name);
    plan[name] = value;
    follow(name, value);
    const skipped = name === "n_calibration" && at("known").checked;
    const fine = skipped || (value >= 0 && value <= (count ? RULES.most : 1) && (!count || Number.isInteger(value)));
    at(name).setAttribute("aria-invalid", String(!fine));
    at(name).disabled = at(`${name}-slider`).disabled = skipped;
    if (!fine) wrong.push(`${name}${typed === "" ? " holds no number" : `=${typed} is not a ${count ? "number of ratings" : "share"}`}; `
      + `give a ${count ? `whole number from 0 to ${grouped(RULES.most)}` : "number from 0 to 1"}`);
  }
  if (at("known").checked) plan.n_calibration = null;
  if (!wrong.length && plan.n_metric > 0) wrong.push(...idle(plan));
  return {plan, wrong};
}

function idle(plan) {
  return Math.abs(plan.rho + plan.eta - 1) >= 1e-9 ? []
    : [`rho=${plan.rho} and eta=${plan.eta} add up to 1: such a metric's ratings carry no information; change one of them`];
}

/** Write the words of `simlab detect` for a plan, without those of `left`. */
function words(plan, left = []) {
  return [...COUNTS, ...SHARES].filter((name) => !left.includes(name))
    .map((name) => `${name}=${plan[name] === null ? "none" : short(plan[name])}`).join(" ");
}
/** Show a command whose words are not broken in two, and copy as they stand. */
function command(id, text) {
  at(id).replaceChildren(...text.split(" ").flatMap((word, k) => [k ? " " : "", element("span", {}, word)]));
}
const option = () => (inPoints() ? " --points" : "");

let waiting = 0;
function update() {
  const {plan, wrong} = read();
  at("refusal").hidden = !wrong.length;
  at("refusal").textContent = wrong[0] || "";
  at("unit").textContent = wrong.length ? "" : unit();
  if (wrong.length) clear(); else answer(plan);
  window.clearTimeout(waiting);
  // The inverse and the chart take dozens of integrations: they wait until a slider rests.
  if (!wrong.length) waiting = window.setTimeout(() => { invert(plan); draw(plan); }, 60);
}

function clear() {
  for (const id of ["epsilon", "smallest"]) { at(id).textContent = "–"; delete at(id).dataset.value; }
  for (const id of ["echo", "meaning", "place", "command", "smallest-said", "inverse-command"]) at(id).textContent = "";
  at("drawing").replaceChildren();
  at("numbers").replaceChildren();
}

function answer(plan) {
  const epsilon = epsilonOf(plan), out = at("epsilon");
  out.textContent = told(epsilon);
  out.dataset.value = epsilon * scale();
  at("echo").textContent = out.textContent;
  const nothing = plan.n_human + plan.n_metric === 0;
  at("meaning").textContent = nothing ? "Nothing is rated, so nothing is measurable: 1 by convention."
    : `Two systems are told apart at level .05 if their shares are found to differ by at least ${told(epsilon)}`
      + `${inPoints() ? " points" : ""}.`;
  const published = [...COUNTS, ...SHARES].every((name) => DATA.axes[name].includes(plan[name]));
  at("place").dataset.place = published ? "published" : "between";
  at("place").textContent = `${published ? "A setting of the published calculator" : "Not a setting of the published calculator"}`
    + ": integrated here, as simlab detect does; nothing is interpolated.";
  command("command", `simlab detect ${words(plan)}${option()}`);
}

function invert(plan) {
  const typed = Number(at("difference").value), difference = ofUnit(typed), unknown = at("unknown").value;
  const said = at("smallest-said"), out = at("smallest");
  const left = unknown === "accuracy" ? ["rho", "eta"] : [unknown];
  const fine = difference > 0 && difference < 1, metricless = unknown === "accuracy" && plan.n_metric === 0;
  const useless = unknown === "n_metric" ? idle(plan) : [];
  at("difference").setAttribute("aria-invalid", String(!fine));
  out.textContent = "–";
  delete out.dataset.value;
  at("inverse-command").textContent = "";
  if (!fine) said.textContent = `A wanted difference lies between 0 and ${scale()}; give one.`;
  else if (metricless) said.textContent = "There are no metric ratings whose accuracy matters; add n_metric.";
  else if (useless.length) said.textContent = useless[0];
  else {
    const found = smallest(unknown, plan, difference);
    command("inverse-command",
      `simlab detect ${words(plan, left)} power=.5 --solve ${unknown} --difference ${short(typed)}${option()}`);
    tellSmallest(found, unknown, typed);
  }
}

function tellSmallest(found, unknown, typed) {
  const none = found.value === null, out = at("smallest");
  out.textContent = none ? "out of reach"
    : unknown === "accuracy" ? `accuracy ${written(found.value, 4)}` : `${unknown} = ${grouped(found.value)}`;
  if (!none) out.dataset.value = found.value;
  at("smallest-said").textContent = none
    ? `No ${unknown} measures a difference of ${short(typed)}: the least is ${told(found.limit)} ${unit()}.`
    : `The least with which ${short(typed)} ${inPoints() ? "points " : ""}is measurable, all else as above `
      + "(counts as expected, not rounded).";
}

build();
for (const id of ["known", "points", "difference", "unknown", "along"]) {
  at(id).addEventListener(id === "difference" ? "input" : "change", () => {
    if (id === "points") at("difference").value = Number((at("difference").value * (inPoints() ? 100 : 0.01)).toPrecision(12));
    update();
  });
}
at("settings").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("resize", update);
update();
trust();

/** Hold this browser's numbers against those that simlab itself computed when it wrote the file. */
function trust() {
  const off = Math.max(...DATA.checks.map((row) => Math.abs(epsilonOf(row) / row.epsilon - 1)));
  const said = off < 1e-6;
  at("trust").dataset.value = off;
  at("trust").classList.toggle("alert", !said);
  at("trust").textContent = said
    ? `This file holds ${DATA.checks.length} settings that simlab ${DATA.simlab} computed when it wrote it; this browser's numbers agree `
      + `with all of them to within ${Math.max(off, 1e-15).toExponential(0)} of their size.`
    : `This browser's numbers are off by up to ${(100 * off).toPrecision(2)} % from simlab's own; do not rely on them.`;
}
