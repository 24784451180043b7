// A sweep to walk into: from a cell to its worlds, to the campaigns of one, to the line that carries one out again.

const MOST_LISTED = 100, FAILED = -1, UNRUN = -2;

function startDrill(figure, block) {
  const walk = {
    block, sizes: block.axes.map((axis) => axis.labels.length), at: [], narrowed: block.axes.map(() => ""),
    controls: figure.querySelector(".controls"), path: figure.querySelector(".path"), list: figure.querySelector(".drilled"),
  };
  walk.controls.append(...block.axes.map((axis, k) => select(`drill-${k}`, axis.label,
    [["", "any"], ...axis.labels.map((label, place) => [place, label])], "", (value) => { walk.narrowed[k] = value; showDrill(walk); })));
  showDrill(walk);
  return Promise.resolve();
}

// What is chosen so far: nothing, a cell, a world of it, or a campaign of that.
function walkTo(walk, at) {
  walk.at = at;
  showDrill(walk);
  walk.path.querySelector("button:last-of-type")?.focus();
}

function showDrill(walk) {
  const { at, block } = walk;
  walk.controls.hidden = at.length > 0 || !block.axes.length;
  const names = [["cells", "All cells"]];
  if (at.length > 0) names.push(["cell", cellName(walk, at[0])]);
  if (at.length > 1) names.push(["world", `World ${at[1]}`]);
  if (at.length > 2) names.push(["campaign", campaignName(block, at[2])]);
  walk.path.replaceChildren(...names.map(([name, text], k) => button(`to-${name}`, short(text, 120), () => walkTo(walk, at.slice(0, k)))));
  walk.list.replaceChildren(...[cellList, worldList, campaignList, replayed][at.length](walk));
  if (block.note) walk.list.append(element("p", { class: "under", text: block.note }));
}

function placesOf(walk, cell) {
  const places = [];
  for (let k = walk.sizes.length - 1, rest = cell; k >= 0; rest = Math.floor(rest / walk.sizes[k]), k -= 1) places.unshift(rest % walk.sizes[k]);
  return places;
}

const cellName = (walk, cell) => placesOf(walk, cell).map((place, k) => `${walk.block.axes[k].label} ${walk.block.axes[k].labels[place]}`).join(", ") || "The cell";

function addressOf(block, campaign) {
  const [, , draws, studies] = block.sizes;
  return [Math.floor(campaign / (draws * studies)), Math.floor(campaign / studies) % draws, campaign % studies];
}

function campaignName(block, campaign) {
  const [pool, draw, study] = addressOf(block, campaign);
  return isCrossed(block) ? `Pool ${pool}, draw ${draw}, study ${study}` : `Study ${study}`;
}

const isCrossed = (block) => block.sizes[1] > 1 || block.sizes[2] > 1;
const ofWorld = (block) => block.sizes[1] * block.sizes[2] * block.sizes[3];
const claimsOf = (block, [cell, world]) => block.claims?.[cell].slice(world * ofWorld(block), (world + 1) * ofWorld(block));

function listedTable(caption, columns, rows) {
  const made = table(caption, columns, rows.map(({ cells }) => ({ cells: cells.slice(1).map((text) => ({ text, numeric: true })) })));
  [...made.tBodies[0].rows].forEach((row, k) => {
    const [name, text, pressed] = rows[k].cells[0];
    row.prepend(element("td", {}, button(name, text, pressed)));
  });
  return element("div", { class: "scrolled" }, made);
}

function cellList(walk) {
  const { block } = walk, rows = [];
  let found = 0;
  for (let cell = 0; cell < block.numbers.length; cell += 1) {
    const places = placesOf(walk, cell);
    if (block.numbers[cell] === null || walk.narrowed.some((wanted, k) => wanted !== "" && Number(wanted) !== places[k])) continue;
    found += 1;
    if (found > MOST_LISTED) continue;
    const error = block.errors[cell], digits = decimals([error ?? NaN]);
    const value = number(block.values[cell], digits) + (known(error) && error > ROUNDING ? ` ± ${number(error, digits)}` : "");
    rows.push({ cells: [[`cell-${cell}`, cellName(walk, cell), () => walkTo(walk, [cell])], value] });
  }
  const caption = found > rows.length ? `The first ${rows.length} of ${found.toLocaleString("en")} cells; choose values of axes for others` : counted(found, "cell");
  return [listedTable(caption, ["cell", block.measure], rows)];
}

function worldList(walk) {
  const { block, at } = walk, rows = [];
  for (let world = 0; world < block.sizes[0]; world += 1) {
    const claims = claimsOf(block, [at[0], world]), ran = claims?.filter((one) => one >= 0);
    if (claims?.every((one) => one === UNRUN)) continue;
    const mean = ran?.length ? number(ran.reduce((sum, one) => sum + one, 0) / ran.length, 2) : "-";
    const told = claims ? [String(ran.length), String(claims.filter((one) => one === FAILED).length), mean] : [];
    rows.push({ cells: [[`world-${world}`, `World ${world}`, () => walkTo(walk, [at[0], world])], ...told] });
  }
  const told = block.claims ? ["campaigns carried out", "failed", "significant pairs, mean"] : [];
  return [listedTable(counted(rows.length, "world"), ["world", ...told], rows)];
}

function campaignList(walk) {
  const { block, at } = walk, claims = claimsOf(block, at), rows = [];
  for (let campaign = 0; campaign < ofWorld(block); campaign += 1) {
    if (claims?.[campaign] === UNRUN) continue;
    const told = claims ? [claims[campaign] === FAILED ? "failed" : String(claims[campaign])] : [];
    rows.push({ cells: [[`campaign-${campaign}`, campaignName(block, campaign), () => walkTo(walk, [...at, campaign])], ...told] });
  }
  return [listedTable(counted(rows.length, "campaign"), ["campaign", ...(block.claims ? ["significant pairs"] : [])], rows)];
}

// A word of a command line, as shells take it.
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

function replayed(walk) {
  const { block, at: [cell, world, campaign] } = walk;
  if (!block.replay) return [element("p", { text: "The ledger is not here; the folder of the store replays this campaign." })];
  const [pool, draw, study] = addressOf(block, campaign);
  const address = [block.numbers[cell], world, ...(isCrossed(block) ? [pool, draw] : []), study].join(".");
  const place = placesOf(walk, cell).map((k, axis) => quoted(`${block.axes[axis].name}=${block.axes[axis].values[k]}`));
  const index = [["world", world], ...(isCrossed(block) ? [["pool", pool], ["draw", draw]] : []), ["study", study]];
  const words = [...place, ...index.map(([name, k]) => `--${name} ${k}`), "--out campaign.csv"];
  return [
    ["Carry this campaign out again, and hold it against what the folder keeps", `${block.replay} ${address}`, "replay"],
    ["Write what it collected as a table", `${block.export} ${words.join(" ")}`, "export"],
  ].flatMap(([about, line, name]) => [element("p", { text: `${about}:` }),
    element("pre", { class: "console", tabindex: 0, dir: "ltr", "data-line": name }, element("code", { text: line }))]);
}
