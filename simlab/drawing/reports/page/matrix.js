// Pairs of systems, a square each: how often a kind of claim was made about them in a design.

function startMatrix(figure, block) {
  const state = { design: 0, kind: Math.max(block.kinds.findIndex((kind) => /miss|wrong|type/i.test(kind)), 0) };
  const parts = { place: figure.querySelector(".chart"), behind: figure.querySelector(".behind-it") };
  const show = () => showMatrix(block, state, parts);
  const controls = figure.querySelector(".controls");
  const pick = (key) => (value) => { state[key] = Number(value); show(); };
  controls.append(
    select("matrix-design", "Design", block.designs.map((text, k) => [k, text]), state.design, pick("design")),
    select("matrix-kind", "Claim", block.kinds.map((text, k) => [k, text]), state.kind, pick("kind")));
  controls.hidden = false;
  figure.querySelector(".buttons").append(
    button("csv", "Shares as csv", () => matrixCsv(block, state)),
    button("svg", "Figure as SVG", async () => download(`${fileName("pairs", block.kinds[state.kind])}.svg`, "image/svg+xml",
      await svgOf(parts.place.figure, block.question))));
  return show();
}

function showMatrix(block, state, parts) {
  parts.behind.replaceChildren(matrixTable(block, state));
  return draw(parts.place, matrixFigure(block, state, parts.place));
}

const pairName = (block, k) => block.pairs[k].map((place) => short(block.systems[place])).join(" and ");

function matrixFigure(block, state, place) {
  const shares = block.shares[state.design][state.kind], n = block.systems.length;
  const width = Math.floor(place.getBoundingClientRect().width) || 640, few = n <= LOOK.few && (width - 60) / n > 34;
  const marks = shares.map((share, k) => ({ x: String(block.pairs[k][1]), y: String(block.pairs[k][0]), share, k,
    label: few && known(share) ? number(share, 2) : "" })).filter((mark) => known(mark.share));
  const longest = Math.max(...block.systems.map((name) => Math.min(Array.from(name).length, 14)));
  const turned = 8 * longest > (width - 60) / n ? { labelAngle: -50, labelAlign: "left", labelBaseline: "middle" } : {};
  return {
    kind: "matrix", marks, names: block.systems, fit: "fit",
    x: { title: "and this system", scale: { domain: places(n).slice(1) }, axis: turned },
    y: { title: "this system", scale: { domain: places(n).slice(0, -1) }, axis: {} },
    height: Math.max(220, Math.min(width * 0.8, 130 + 44 * n)),
    alt: `${block.alt} Shown: ${short(block.kinds[state.kind])}, ${short(block.designs[state.design], 120)}.`,
    hover: ({ k }) => [pairName(block, k),
      ...block.kinds.map((kind, one) => [kind, number(block.shares[state.design][one][k], 3)]),
      ...(block.n.length ? [["from", counted(block.n[state.design], "campaign")]] : [])],
  };
}

function matrixTable(block, state) {
  const held = block.shares[state.design];
  const rows = block.pairs.map((pair, k) => ({ data: { "data-row": k }, cells: [
    ...pair.map((place) => block.systems[place]),
    ...block.kinds.map((_, kind) => ({ text: number(held[kind][k], 3), numeric: true, data: { "data-kind": kind, "data-value": held[kind][k] } })),
  ] }));
  const n = block.n.length ? `, ${counted(block.n[state.design], "campaign")}` : "";
  return table(`Shares of the claims about each pair, ${block.designs[state.design]}${n}`, ["system", "and system", ...block.kinds], rows);
}

function matrixCsv(block, state) {
  const records = block.pairs.map((pair, k) => [block.designs[state.design], ...pair.map((place) => block.systems[place]),
    ...block.kinds.map((_, kind) => block.shares[state.design][kind][k])]);
  const columns = ["design", "system", "and system", ...block.kinds];
  download(`${fileName("pairs")}.csv`, "text/csv", csvOf(columns, records));
}
