import type { ScaleTime } from 'd3-scale';
import { visibleText } from '../text-parts.js';
import { formatTime, type Zone } from '../time.js';
import type { Bar, Lane, Rows } from './history.js';

/** The colours of the timeline, from the style sheet. */
export interface Palette {
  readonly text: string;
  readonly muted: string;
  readonly line: string;
  readonly onBar: string;
  readonly cursor: string;
  readonly unknown: string;
  readonly records: readonly string[];
  readonly header: string;
  readonly font: string;
}

/** A lane with its place. */
export interface PlacedLane {
  readonly lane: Lane;
  readonly rows: Rows;
  readonly top: number;
  readonly height: number;
  /** Whether its rows are drawn into one, since they are many. */
  readonly isFolded: boolean;
  /** The row of its first one: those of an opened lane are below its name. */
  readonly firstRow: number;
}

export const ROW = 18;
export const LANE_PADDING = 4;

/** What is drawn. */
export interface Picture {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  /** From times in milliseconds to pixels. */
  readonly scale: ScaleTime<number, number>;
  readonly palette: Palette;
  /** From here on the history is loaded, in microseconds; null: all of it is. */
  readonly since: number | null;
  /** Up to here it was observed, in microseconds. */
  readonly until: number;
  /** Times to mark, in microseconds. */
  readonly cursors: readonly number[];
}

/** The ends of a bar in pixels, within the picture. */
export interface Extent {
  readonly start: number;
  readonly certain: number;
  readonly end: number;
}

/** Where a bar is; null outside of the picture. */
export function extentOf(
  { from, lastSeen, to }: Bar,
  { scale, since, until, width }: Pick<Picture, 'scale' | 'since' | 'until' | 'width'>,
): Extent | null {
  const pixel = (time: number) => scale(time / 1000);
  const start = pixel(from ?? since ?? until);
  const end = pixel(to ?? Math.max(until, lastSeen));
  if (end < 0 || start > width) return null;
  const shownStart = Math.max(-10, start);
  const shownEnd = Math.min(width + 10, Math.max(end, start + 1));
  const certain = Math.min(shownEnd, Math.max(shownStart, pixel(lastSeen)));
  return { start: shownStart, certain, end: shownEnd };
}

/** Draws lanes that are in view. */
export function drawLanes(picture: Picture, placed: readonly PlacedLane[], scrollTop: number): void {
  const { context, width, height, palette } = picture;
  context.clearRect(0, 0, width, height);
  drawGrid(picture);
  context.font = palette.font;
  context.textBaseline = 'middle';
  for (const each of placed) {
    const top = each.top - scrollTop;
    context.fillStyle = palette.line;
    context.fillRect(0, Math.round(top + each.height) - 0.5, width, 0.5);
    if (each.isFolded || each.firstRow > 0) drawFolded(picture, each, top);
    if (!each.isFolded) drawBars(picture, each, top);
  }
  drawUnknown(picture);
  drawCursors(picture);
}

function colourOf({ palette }: Picture, { kind, name }: Lane): string {
  if (kind === 'header') return palette.header;
  const { records } = palette;
  const place = TYPES.indexOf(name);
  return records[(place === -1 ? TYPES.length : place) % records.length] ?? palette.header;
}

/** In the order of colours. */
const TYPES = ['A', 'AAAA', 'NS', 'MX', 'TXT', 'CNAME', 'SOA'];

function drawGrid({ context, scale, height, width, palette }: Picture): void {
  context.fillStyle = palette.line;
  for (const tick of scale.ticks(Math.max(2, width / 130))) {
    context.fillRect(Math.round(scale(tick)), 0, 1, height);
  }
}

/** Bars that begin and end within one pixel of their row are one mark. */
function drawBars(picture: Picture, { lane, rows, firstRow }: PlacedLane, top: number): void {
  const drawnTo: number[] = [];
  for (const [place, bar] of lane.bars.entries()) {
    const row = firstRow + (rows.rowOf[place] ?? 0);
    const y = top + LANE_PADDING + row * ROW;
    if (y + ROW < 0 || y > picture.height) continue;
    const extent = extentOf(bar, picture);
    if (extent === null || extent.end <= (drawnTo[row] ?? Number.NEGATIVE_INFINITY) + 0.5) continue;
    drawnTo[row] = extent.end;
    drawBar(picture, colourOf(picture, lane), bar, extent, y);
  }
}

function drawBar(
  picture: Picture,
  colour: string,
  bar: Bar,
  { start, certain, end }: Extent,
  y: number,
): void {
  const { context, palette } = picture;
  context.fillStyle = colour;
  context.fillRect(start, y + 1, Math.max(1, certain - start), ROW - 3);
  if (end > certain) drawUncertain(picture, colour, { from: certain, to: end, y, isOpen: bar.to === null });
  // The beginning of a value.
  context.fillStyle = palette.text;
  if (bar.from !== null && start >= 0 && end - start >= SHORTEST_WITH_MARK) {
    context.fillRect(start, y + 1, 1.5, ROW - 3);
  }
  if (end - start < SHORTEST_WITH_TEXT) return;
  drawText(picture, bar.value, { start: Math.max(0, start), certain, end }, y);
}

/** In pixels. */
const SHORTEST_WITH_MARK = 4;
const SHORTEST_WITH_TEXT = 36;

/** When it went is between its last and the next observation. What is present may have been observed earlier than other parts. */
function drawUncertain(
  { context }: Picture,
  colour: string,
  {
    from,
    to,
    y,
    isOpen,
  }: { readonly from: number; readonly to: number; readonly y: number; readonly isOpen: boolean },
): void {
  context.save();
  context.beginPath();
  context.rect(from, y + 1, to - from, ROW - 3);
  context.clip();
  context.globalAlpha = isOpen ? 0.4 : 0.22;
  context.fillStyle = colour;
  context.fillRect(from, y + 1, to - from, ROW - 3);
  if (!isOpen) hatch(context, colour, from, y, to);
  context.restore();
}

function hatch(context: CanvasRenderingContext2D, colour: string, from: number, y: number, to: number): void {
  context.strokeStyle = colour;
  context.globalAlpha = 0.6;
  context.lineWidth = 1;
  context.beginPath();
  for (let x = from - ROW; x < to; x += 5) {
    context.moveTo(x, y + ROW);
    context.lineTo(x + ROW, y);
  }
  context.stroke();
}

/** Longer values are cut before they are measured. */
const MAX_DRAWN = 300;

function drawText({ context, palette }: Picture, value: string, extent: Extent, y: number): void {
  const { start, certain, end } = extent;
  const most = Math.min(MAX_DRAWN, Math.floor((end - start - 8) / 6.2));
  const visible = visibleText(value.slice(0, most));
  const text = value.length > most ? `${visible.slice(0, Math.max(1, most - 1))}…` : visible;
  for (const [from, to, colour] of [
    [start, certain, palette.onBar],
    [certain, end, palette.text],
  ] as const) {
    if (to <= from) continue;
    context.save();
    context.beginPath();
    context.rect(from, y, Math.min(to, end - 2) - from, ROW);
    context.clip();
    context.fillStyle = colour;
    context.fillText(text, start + 5, y + ROW / 2);
    context.restore();
  }
}

/** One row for all values: where there are any, and a mark at each beginning. */
function drawFolded(picture: Picture, { lane }: PlacedLane, top: number): void {
  const { context, palette } = picture;
  const y = top + LANE_PADDING;
  const colour = colourOf(picture, lane);
  let filledTo = Number.NEGATIVE_INFINITY;
  let markedAt = Number.NEGATIVE_INFINITY;
  for (const bar of lane.bars) {
    const extent = extentOf(bar, picture);
    if (extent === null) continue;
    const from = Math.max(extent.start, filledTo);
    context.fillStyle = colour;
    if (extent.end > from) context.fillRect(from, y + 1, extent.end - from, ROW - 3);
    filledTo = Math.max(filledTo, extent.end);
    if (bar.from === null || extent.start < 0 || extent.start < markedAt + 2) continue;
    markedAt = extent.start;
    context.fillStyle = palette.onBar;
    context.fillRect(extent.start, y + 4, 1, ROW - 9);
  }
}

/** What is not loaded is not drawn as if there was nothing. */
function drawUnknown({ context, scale, since, height, width, palette }: Picture): void {
  if (since === null) return;
  const end = scale(since / 1000);
  if (end <= 0) return;
  context.fillStyle = palette.unknown;
  context.fillRect(0, 0, end, height);
  if (end < 90) return;
  context.fillStyle = palette.text;
  context.fillText('not loaded', Math.min(end, width) - 80, ROW);
}

function drawCursors({ context, scale, cursors, height, palette }: Picture): void {
  const pixels = cursors.map((time) => scale(time / 1000));
  const [first, second] = pixels;
  context.fillStyle = palette.cursor;
  if (first !== undefined && second !== undefined) {
    context.save();
    context.globalAlpha = 0.12;
    context.fillRect(Math.min(first, second), 0, Math.abs(second - first), height);
    context.restore();
  }
  for (const pixel of pixels) context.fillRect(Math.round(pixel) - 1, 0, 2, height);
}

/** Draws the times above the lanes. */
export function drawAxis({ context, scale, width, height, palette, cursors }: Picture, zone: Zone): void {
  context.clearRect(0, 0, width, height);
  context.font = palette.font;
  context.textBaseline = 'middle';
  const ticks = scale.ticks(Math.max(2, width / 130));
  const isByMonths = Number(ticks[1]) - Number(ticks[0]) >= SHORTEST_MONTH;
  let free = 0;
  for (const [place, tick] of ticks.entries()) {
    const x = Math.round(scale(tick));
    context.fillStyle = palette.line;
    context.fillRect(x, height - 6, 1, 6);
    const text = tickText(tick, zone, { isByMonths, isFirst: place === 0 });
    const end = x + 4 + context.measureText(text).width;
    if (x < free || end > width) continue;
    free = end + 8;
    context.fillStyle = palette.muted;
    context.fillText(text, x + 4, height / 2);
  }
  context.fillStyle = palette.cursor;
  for (const time of cursors) {
    const x = scale(time / 1000);
    context.beginPath();
    context.moveTo(x - 6, height - 9);
    context.lineTo(x + 6, height - 9);
    context.lineTo(x, height);
    context.fill();
  }
}

/** In milliseconds. */
const SHORTEST_MONTH = 27 * 86_400_000;

interface TickPlace {
  /** Whether ticks are months apart, or years. */
  readonly isByMonths: boolean;
  readonly isFirst: boolean;
}

/** A tick's time, as exact as it has to be: the first one with its date. */
function tickText(tick: Date, zone: Zone, { isByMonths, isFirst }: TickPlace): string {
  const [date = '', time = ''] = formatTime(tick.getTime() * 1000, zone).split(' ');
  const milliseconds = tick.getTime() % 1000;
  const fraction = milliseconds === 0 ? '' : `.${String(milliseconds).padStart(3, '0')}`;
  if (isByMonths) return date.endsWith('-01-01') ? date.slice(0, 4) : date.slice(0, 7);
  if (time === '00:00:00' && fraction === '') return date;
  const ofDay = time.endsWith(':00') && fraction === '' ? time.slice(0, 5) : time + fraction;
  return isFirst ? `${date} ${ofDay}` : ofDay;
}
