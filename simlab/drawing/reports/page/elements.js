// Parts of a page. Text enters as text: nothing here reads markup.

function element(tag, given = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(given)) {
    if (value == null || value === false) continue;
    if (key === "text") made.textContent = value;
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children);
  return made;
}

// Names may be long: what is left out of a label stands in its title and in the table.
function short(text, most = 60) {
  const letters = Array.from(String(text));
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : letters.join("");
}

// Vega keeps titles as keys of an object, whose prototype is none of them.
const title = (text, most = 60) => short(text, most).replace(/^__proto__$/, "\u2060__proto__");

const listed = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);

const counted = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

function option(value, label, chosen) {
  return element("option", { value, text: short(label), title: short(label, 400), dir: "auto", selected: chosen });
}

function labelled(label, control) {
  return element("label", { class: "control" }, element("span", { text: short(label), dir: "auto" }), control);
}

// A select of [value, label] pairs that calls back with what is chosen.
function select(name, label, options, chosen, changed) {
  const control = element("select", { "data-control": name });
  control.append(...options.map(([value, text]) => option(value, text, String(value) === String(chosen))));
  control.addEventListener("change", () => changed(control.value));
  return labelled(label, control);
}

function button(name, text, pressed) {
  const made = element("button", { type: "button", "data-control": name, text });
  made.addEventListener("click", pressed);
  return made;
}

// A table; a cell is a text, or { text, data, head } where data are the attributes that programs read.
function table(caption, columns, rows) {
  const head = element("tr", {}, ...columns.map((text) => element("th", { scope: "col", text: short(text, 200), dir: "auto" })));
  const body = element("tbody", {}, ...rows.map(tableRow));
  return element("table", { class: "behind" },
    element("caption", { text: caption, dir: "auto" }), element("thead", {}, head), body);
}

function tableRow({ cells, data = {} }) {
  return element("tr", data, ...cells.map((cell) => {
    const { text, data: attributes = {}, numeric = false } = typeof cell === "object" ? cell : { text: cell };
    return element("td", { dir: "auto", class: numeric ? "number" : String(text).length > 40 ? "long" : null, ...attributes, text });
  }));
}

// Comma-separated values, quoted as Python's csv quotes them; each record has a value a column.
function csvOf(columns, records) {
  const field = (value) => {
    const text = value == null ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...records].map((record) => `${record.map(field).join(",")}\n`).join("");
}

// Hand a text to the browser as a file, which sends nothing anywhere.
function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// A name for a file: of letters and digits only.
function fileName(...words) {
  const name = words.join("-").normalize("NFKD").replace(/[^A-Za-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  return (name || "figure").slice(0, 60).toLowerCase();
}
