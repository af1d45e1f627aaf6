/** Draws what was measured: one line for each kind of work, and on it the time that each library takes for it. */
import { amount, times } from "./table.mjs";

const [WIDTH, LEFT, RIGHT, LINE, TOP, GAP] = [860, 232, 150, 24, 84, 30];
const INK = "#333";
const PALE = "#e4e4e4";

/** What the legend shows. `width` is that of the name, in a wide font. */
const ours = {
  name: "Taskwright",
  width: 70,
  colour: "#1f6a99",
  mark: (x, y) => `<circle cx="${x}" cy="${y}" r="5.5" fill="#1f6a99" stroke="#fff"/>`,
};
const floor = {
  name: "the floor: the same work without a task",
  width: 240,
  mark: (x, y) => `<circle cx="${x}" cy="${y}" r="4.5" fill="#fff" stroke="#777" stroke-width="1.5"/>`,
};
const PEERS = [
  { name: "node-idempotency", width: 114, mark: (x, y) => polygon([x, y - 6], [x + 6, y], [x, y + 6], [x - 6, y])("#d98324") },
  { name: "Powertools", width: 70, mark: (x, y) => polygon([x, y - 6.5], [x + 6.5, y + 5], [x - 6.5, y + 5])("#a33b5e") },
  {
    name: "Nest",
    width: 68,
    label: "Nest CQRS",
    mark: (x, y) => polygon([x - 4.5, y - 4.5], [x + 4.5, y - 4.5], [x + 4.5, y + 4.5], [x - 4.5, y + 4.5])("#6b7f3a"),
  },
  { name: "cockatiel", width: 56, mark: (x, y) => polygon([x, y + 6.5], [x + 6.5, y - 5], [x - 6.5, y - 5])("#6b7f3a") },
];

const onRedis = (what) =>
  [1, 64, 256].map((inFlight) => [
    inFlight === 1 ? `${what}, one by one` : `${what}, ${inFlight} in flight`,
    `idempotent execute on Redis, ${what}${inFlight === 1 ? "" : `, ${inFlight} in flight`}`,
  ]);
const PANELS = [
  [
    "Without a claim",
    [
      ["no policies", "execute, no policies"],
      ["parsed input", "execute, zod input"],
      ["parsed input, retries", "execute, zod input, retryOn, no failure"],
    ],
  ],
  [
    "Idempotent, in memory",
    [
      ["first run", "idempotent execute in memory, first run"],
      ["duplicate", "idempotent execute in memory, duplicate"],
      ["replay", "idempotent execute in memory, replay"],
    ],
  ],
  ["Idempotent, on Redis", [...onRedis("first run"), ...onRedis("duplicate")]],
  [
    "Enqueue with a key, on BullMQ",
    [
      ["one by one", "enqueue with a key on BullMQ, one by one"],
      ["100 in flight", "enqueue with a key on BullMQ, 100 in flight"],
      ["a thousand at once", "enqueueMany of 1000 with a key on BullMQ"],
    ],
  ],
];

/**
 * @param {readonly import("./measure.mjs").Measured[]} rows
 * @returns {string} An SVG.
 */
export function draw(rows) {
  const medians = new Map(rows.map(({ name, figure }) => [name, figure.median]));
  const panels = placed(rows);
  const lines = panels.flatMap((panel) => panel.lines);
  const all = lines.flatMap(({ row }) => [row.name, row.floor, ...row.peers.map(({ name }) => name)].map((name) => medians.get(name)));
  const [least, most] = [Math.floor(Math.log10(Math.min(...all))), Math.ceil(Math.log10(Math.max(...all)))];
  const x = (ns) => round(LEFT + ((Math.log10(ns) - least) / (most - least)) * (WIDTH - LEFT - RIGHT));
  const bottom = lines.at(-1).y + LINE;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 46}" font-family="system-ui, sans-serif" font-size="12" fill="${INK}">`,
    "<title>Time for one run</title>",
    `<rect width="${WIDTH}" height="${bottom + 46}" fill="#fff"/>`,
    text(16, 26, "Time for one run", `font-size="15" font-weight="600"`),
    text(16, 44, "Further left is faster; each line to the right is ten times as long.", `fill="#666"`),
    ...legend(),
    ...axis(least, most, x, bottom),
    ...panels.flatMap((panel) => drawPanel(panel, x, medians)),
    "</svg>",
    "",
  ].join("\n");
}

/** The panels with their lines, each with its row and its height on the page. */
function placed(rows) {
  let y = TOP;
  return PANELS.map(([title, entries]) => {
    const titleY = (y += GAP);
    const lines = entries.map(([label, name]) => ({ label, y: (y += LINE), row: rows.find((row) => row.name === name) }));
    const missing = entries.find((_, at) => lines[at].row === undefined);
    if (missing !== undefined) throw new Error(`There is no row "${missing[1]}". Was everything measured?`);
    return { title, titleY, lines };
  });
}

function drawPanel({ title, titleY, lines }, x, medians) {
  return [text(16, titleY + 4, title, `font-weight="600"`), ...lines.flatMap((line) => drawLine(line, x, medians))];
}

function drawLine({ label, y, row }, x, medians) {
  const [own, least] = [x(row.figure.median), x(medians.get(row.floor))];
  const peers = row.peers.map(({ name }) => ({ at: x(medians.get(name)), peer: PEERS.find((each) => name.startsWith(each.name)) }));
  return [
    text(28, y + 4, label),
    `<line x1="${LEFT}" y1="${y}" x2="${WIDTH - RIGHT}" y2="${y}" stroke="${PALE}" stroke-dasharray="1 3"/>`,
    `<line x1="${least}" y1="${y}" x2="${own}" y2="${y}" stroke="${ours.colour}" stroke-width="2" opacity="0.35"/>`,
    floor.mark(least, y),
    ours.mark(own, y),
    ...peers.map(({ at, peer }) => peer.mark(at, y)),
    text(WIDTH - RIGHT + 62, y + 4, amount(row.figure.median, row.unit), `text-anchor="end" fill="${ours.colour}" font-weight="600"`),
    text(WIDTH - 16, y + 4, `${times(row.ratio.median)} ×`, `text-anchor="end" fill="#666"`),
  ];
}

function axis(least, most, x, bottom) {
  const powers = Array.from({ length: most - least + 1 }, (_, at) => least + at);
  return [
    text(WIDTH - RIGHT + 62, TOP + 8, "Taskwright", `text-anchor="end" fill="${ours.colour}" font-weight="600"`),
    text(WIDTH - 16, TOP + 8, "the floor", `text-anchor="end" fill="#666"`),
    ...powers.flatMap((power) => {
      const at = x(10 ** power);
      return [
        `<line x1="${at}" y1="${TOP + 16}" x2="${at}" y2="${bottom}" stroke="${PALE}"/>`,
        text(at, bottom + 18, unitOf(power), `text-anchor="middle" fill="#666"`),
      ];
    }),
  ];
}

function unitOf(power) {
  const [unit, by] = [
    ["ns", 0],
    ["µs", 3],
    ["ms", 6],
    ["s", 9],
  ].findLast(([, from]) => power >= from);
  return `${10 ** (power - by)} ${unit}`;
}

function legend() {
  let at = 16;
  return [ours, floor, ...PEERS].flatMap(({ name, label = name, width, mark }) => {
    const drawn = [mark(at + 6, 66), text(at + 17, 70, label)];
    at += 38 + width;
    return drawn;
  });
}

function polygon(...points) {
  return (fill) => `<polygon points="${points.map((point) => point.map(round).join(",")).join(" ")}" fill="${fill}" stroke="#fff"/>`;
}

function text(x, y, words, attributes = "") {
  return `<text x="${x}" y="${y}"${attributes && ` ${attributes}`}>${words}</text>`;
}

function round(value) {
  return Number(value.toFixed(1));
}
