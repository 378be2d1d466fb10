import { scaleTime, scaleUtc } from 'd3-scale';
import { select } from 'd3-selection';
import { type D3ZoomEvent, type ZoomBehavior, zoom, zoomIdentity } from 'd3-zoom';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Time, zone } from '../parts.js';
import { visibleText } from '../text-parts.js';
import { type Microseconds, timestampOf } from '../time.js';
import { Text } from '../values.js';
import {
  drawAxis,
  drawLanes,
  extentOf,
  LANE_PADDING,
  type Palette,
  type Picture,
  type PlacedLane,
  ROW,
} from './draw.js';
import { type Bar, compactRows, type Lane, rowsByValue } from './history.js';
import { BarValue } from './timeline-table.js';

/** An interval of time. */
export interface Span {
  readonly from: Microseconds;
  readonly to: Microseconds;
}

interface TimelineProps {
  readonly lanes: readonly Lane[];
  /** All that is known of. */
  readonly whole: Span;
  /** From when on the history is loaded; null: all of it is. */
  readonly since: Microseconds | null;
  /** What is in view; null: all. */
  readonly view: Span | null;
  readonly cursors: readonly Microseconds[];
  onView(view: Span | null): void;
  /** A time was chosen; the other one of two with Shift. */
  onPick(time: Microseconds, isOther: boolean): void;
  /** The change before or after the chosen time. */
  onStep(step: -1 | 1): void;
}

/** More rows or values than this are folded into one. */
const MAX_ROWS = 4;
const MAX_VALUES = 12;

const AXIS_HEIGHT = 30;

/** How long the view rests before it is written into the address, in milliseconds. */
const SETTLED = 300;

/** The gestures, and what the page does of the same kind. */
interface Zooming {
  readonly behavior: ZoomBehavior<HTMLCanvasElement, unknown>;
  /** Runs a step of keys or buttons: its view goes into the address, as that of a gesture does. */
  byHand(step: (canvas: HTMLCanvasElement) => void): void;
}

/** The history as a picture. The same as a table is beside it. */
export function Timeline(props: TimelineProps) {
  const { lanes, whole, since, cursors } = props;
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [width, setWidth] = useState(0);
  const [scrolled, setScrolled] = useState({ top: 0, height: 400 });
  const [hovered, setHovered] = useState<Hovered | null>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const axis = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const placed = useMemo(() => placeLanes(lanes, opened), [lanes, opened]);
  const last = placed.at(-1);
  const total = last === undefined ? 0 : last.top + last.height;
  const height = Math.min(total, scrolled.height);
  const base = useMemo(() => {
    const scale = zone.value === 'UTC' ? scaleUtc() : scaleTime();
    return scale.domain([whole.from / 1000, whole.to / 1000]).range([0, Math.max(1, width - 8)]);
  }, [whole.from, whole.to, width, zone.value]);
  const palette = usePalette();

  const shown = useRef(base);
  const visible = placed.filter(
    ({ top, height: size }) => top + size > scrolled.top && top < scrolled.top + height,
  );
  const pictureOf = (context: CanvasRenderingContext2D, size: number): Picture => ({
    ...{ context, width, height: size, scale: shown.current, palette, since, until: whole.to, cursors },
  });
  const draw = () => {
    const [lanesContext, axisContext] = [
      contextOf(canvas.current, width, height),
      contextOf(axis.current, width, AXIS_HEIGHT),
    ];
    if (lanesContext === null || axisContext === null) return;
    drawLanes(pictureOf(lanesContext, height), visible, scrolled.top);
    drawAxis(pictureOf(axisContext, AXIS_HEIGHT), zone.value);
  };
  const pick = (event: MouseEvent) => {
    const time = Math.round(shown.current.invert(event.offsetX).getTime() * 1000);
    props.onPick(Math.min(whole.to, Math.max(whole.from, time)), event.shiftKey);
  };
  const latest = useRef({ draw, pick, props, base });
  latest.current = { draw, pick, props, base };
  const { behavior, byHand } = useZoom(canvas, axis, latest, shown);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => {
      setWidth(canvas.current?.parentElement?.clientWidth ?? 0);
      setScrolled({ top: element.scrollTop, height: element.clientHeight });
    });
    observer.observe(element);
    if (canvas.current?.parentElement) observer.observe(canvas.current.parentElement);
    return () => observer.disconnect();
  }, []);

  // The view of the address, whenever it or what there is changes.
  const { view } = props;
  useLayoutEffect(() => {
    if (canvas.current === null || width === 0) return;
    const longest = Math.max(1, (whole.to - whole.from) / SHORTEST_VIEW);
    behavior.scaleExtent([1, longest]).extent([
      [0, 0],
      [Math.max(1, width - 8), 1],
    ]);
    behavior.translateExtent([
      [0, Number.NEGATIVE_INFINITY],
      [Math.max(1, width - 8), Number.POSITIVE_INFINITY],
    ]);
    const scale = view === null ? 1 : (whole.to - whole.from) / Math.max(1, view.to - view.from);
    const start = view === null ? 0 : base(view.from / 1000);
    const transform = zoomIdentity.scale(scale).translate(-start, 0);
    select(canvas.current).call(behavior.transform, transform);
  }, [base, view?.from, view?.to, behavior, width, whole]);
  useLayoutEffect(draw);

  const hover = (event: PointerEvent) => {
    if (event.buttons !== 0 || canvas.current === null) return setHovered(null);
    const { left, top } = canvas.current.getBoundingClientRect();
    const place = { x: event.clientX - left, y: event.clientY - top };
    const bar = barAt(
      placed,
      place,
      scrolled.top,
      pictureOf(canvas.current.getContext('2d') as CanvasRenderingContext2D, height),
    );
    setHovered(bar === null ? null : { ...place, ...bar });
  };
  const scaleBy = (factor: number, at?: [number, number]) =>
    byHand((element) => behavior.scaleBy(select(element), factor, at));
  const panBy = (tenths: number) => {
    const step = (tenths * width * lengthOf(shown.current)) / lengthOf(base) / 10;
    byHand((element) => behavior.translateBy(select(element), step, 0));
  };
  const showAll = () => {
    byHand((element) => behavior.transform(select(element), zoomIdentity));
    props.onView(null);
  };
  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => panBy(1),
    ArrowRight: () => panBy(-1),
    '+': () => scaleBy(1.5),
    '=': () => scaleBy(1.5),
    '-': () => scaleBy(1 / 1.5),
    '0': showAll,
    '[': () => props.onStep(-1),
    ']': () => props.onStep(1),
  };
  const press = (event: KeyboardEvent) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  };

  return (
    <div class="timeline">
      <fieldset class="group timeline-tools" aria-label="Zoom">
        <button type="button" onClick={keys['+']} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={keys['-']} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={keys['ArrowLeft']} aria-label="Earlier">
          ←
        </button>
        <button type="button" onClick={keys['ArrowRight']} aria-label="Later">
          →
        </button>
        <button type="button" onClick={keys['0']}>
          All
        </button>
        <details class="hint">
          <summary>Gestures and keys</summary>
          <ul id="timeline-keys">
            <li>Click or tap: look at that time. Shift + click: compare with it.</li>
            <li>Drag, or Shift + wheel: earlier and later. Pinch, or Ctrl + wheel: zoom.</li>
            <li>
              Keys: ← and → earlier and later, + and − zoom, 0 all, [ and ] to the change before and after.
            </li>
          </ul>
        </details>
        <ul class="legend">
          <li class="observed">observed</li>
          <li class="went">went in between</li>
          <li class="unobserved">not observed since</li>
        </ul>
      </fieldset>
      <div class="axis-row" aria-hidden="true">
        <canvas ref={axis} />
      </div>
      <section
        class="lanes"
        ref={scroller}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled and zoomed by keys
        tabIndex={0}
        aria-label="Timeline"
        aria-describedby="timeline-keys"
        onKeyDown={press}
        onScroll={({ currentTarget }) =>
          setScrolled({ top: currentTarget.scrollTop, height: currentTarget.clientHeight })
        }
      >
        <div class="lanes-inner" ref={(element) => element?.style.setProperty('height', `${total}px`)}>
          <div class="lane-labels">
            {visible.map((each) => (
              <LaneLabel
                key={each.lane.id}
                placed={each}
                isOpened={opened.has(each.lane.id)}
                visibleFrom={scrolled.top}
                visibleTo={scrolled.top + height}
                toggle={() => setOpened(toggled(opened, each.lane.id))}
              />
            ))}
          </div>
          <div class="lanes-picture">
            <canvas
              ref={canvas}
              role="img"
              aria-label={`${lanes.length} record sets and headers from ${timestampOf(whole.from)} to ${timestampOf(whole.to)}. The same is in the table.`}
              onPointerMove={hover}
              onPointerLeave={() => setHovered(null)}
            />
            {hovered !== null && <Tooltip hovered={hovered} width={width} />}
          </div>
        </div>
      </section>
    </div>
  );
}

/** The view is never shorter, in microseconds. */
const SHORTEST_VIEW = 10_000;

/** In milliseconds. */
function lengthOf(scale: ScaleOfTime): number {
  const [from = 0, to = 1] = scale.domain().map(Number);
  return to - from;
}

type ScaleOfTime = ReturnType<typeof scaleUtc<number, number>>;

interface LatestDrawing {
  readonly draw: () => void;
  readonly pick: (event: MouseEvent) => void;
  readonly props: TimelineProps;
  readonly base: ScaleOfTime;
}

/** Joins the gestures of d3-zoom to the picture. */
function useZoom(
  canvas: { readonly current: HTMLCanvasElement | null },
  axis: { readonly current: HTMLCanvasElement | null },
  latest: { readonly current: LatestDrawing },
  shown: { current: ScaleOfTime },
): Zooming {
  const behavior = useMemo(() => zoom<HTMLCanvasElement, unknown>(), []);
  const isByHand = useRef(false);
  const byHand: Zooming['byHand'] = (step) => {
    isByHand.current = true;
    if (canvas.current !== null) step(canvas.current);
    isByHand.current = false;
  };
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    let frame = 0;
    let settled: ReturnType<typeof setTimeout> | undefined;
    behavior
      .clickDistance(4)
      .filter((event: MouseEvent) =>
        event.type === 'wheel'
          ? event.ctrlKey || event.metaKey
          : !event.button && !event.shiftKey && !event.ctrlKey,
      )
      .wheelDelta(wheelStep)
      .on('zoom', ({ transform, sourceEvent }: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
        shown.current = transform.rescaleX(latest.current.base);
        cancelAnimationFrame(frame);
        frame = requestAnimationFrame(() => latest.current.draw());
        // All others are that of the address.
        if (!isByHand.current && (sourceEvent === undefined || sourceEvent === null)) return;
        clearTimeout(settled);
        settled = setTimeout(() => latest.current.props.onView(viewOf(transform.k, shown.current)), SETTLED);
      });
    const scaleByWheel = (event: WheelEvent) => {
      event.preventDefault();
      byHand(() => behavior.scaleBy(select(element), 2 ** wheelStep(event), [event.offsetX, 0]));
    };
    const pick = (event: MouseEvent) => latest.current.pick(event);
    const scrolling = letVerticalTouchesScroll(element);
    const panByWheel = (event: WheelEvent) => {
      const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (!isSideways || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const delta = event.deltaX === 0 ? event.deltaY : event.deltaX;
      const step = (-delta * lengthOf(shown.current)) / lengthOf(latest.current.base);
      byHand(() => behavior.translateBy(select(element), step, 0));
    };
    element.addEventListener('wheel', panByWheel, { passive: false });
    element.addEventListener('click', pick);
    const scale = axis.current;
    scale?.addEventListener('wheel', scaleByWheel, { passive: false });
    scale?.addEventListener('click', pick);
    select(element).call(behavior).on('dblclick.zoom', null);
    return () => {
      clearTimeout(settled);
      cancelAnimationFrame(frame);
      element.removeEventListener('wheel', panByWheel);
      element.removeEventListener('click', pick);
      scrolling.abort();
      scale?.removeEventListener('wheel', scaleByWheel);
      scale?.removeEventListener('click', pick);
      select(element).on('.zoom', null);
    };
  }, [behavior, canvas, axis, latest, shown]);
  return { behavior, byHand };
}

/**
 * Leaves touches that move up or down to the browser, which scrolls: d3-zoom would take every touch.
 *
 * @returns what ends that.
 */
function letVerticalTouchesScroll(element: HTMLElement): AbortController {
  const ended = new AbortController();
  const options = { capture: true, signal: ended.signal };
  let start: Touch | undefined;
  let isVertical: boolean | undefined;
  element.parentElement?.addEventListener(
    'touchstart',
    ({ touches }) => {
      start = touches.length === 1 ? touches[0] : undefined;
      isVertical = undefined;
    },
    options,
  );
  element.parentElement?.addEventListener(
    'touchmove',
    (event) => {
      const [touch] = event.touches;
      if (start === undefined || touch === undefined) return;
      isVertical ??= Math.abs(touch.clientY - start.clientY) > Math.abs(touch.clientX - start.clientX);
      if (isVertical) event.stopPropagation();
    },
    options,
  );
  return ended;
}

function wheelStep({ deltaY, deltaMode }: WheelEvent): number {
  return Math.max(-0.6, Math.min(0.6, -deltaY * (deltaMode === 1 ? 0.1 : 0.006)));
}

function viewOf(scale: number, shown: ScaleOfTime): Span | null {
  if (scale <= 1.0001) return null;
  const [from = 0, to = 0] = shown.domain().map(Number);
  return { from: Math.round(from * 1000), to: Math.round(to * 1000) };
}

function toggled(set: ReadonlySet<string>, member: string): ReadonlySet<string> {
  const others = new Set(set);
  if (!others.delete(member)) others.add(member);
  return others;
}

function placeLanes(lanes: readonly Lane[], opened: ReadonlySet<string>): PlacedLane[] {
  let top = 0;
  return lanes.map((lane) => {
    const compact = compactRows(lane, MAX_ROWS);
    const isLarge = compact.count > MAX_ROWS || (lane.kind === 'records' && lane.values.length > MAX_VALUES);
    const isOpened = opened.has(lane.id);
    const rows = isOpened ? rowsByValue(lane) : compact;
    const isFolded = isLarge && !isOpened;
    const count = isFolded ? 1 : rows.count + (isOpened ? 1 : 0);
    const height = count * ROW + 2 * LANE_PADDING;
    const placed = { lane, rows, top, height, isFolded, firstRow: isOpened ? 1 : 0 };
    top += height;
    return placed;
  });
}

interface LaneLabelProps {
  readonly placed: PlacedLane;
  readonly isOpened: boolean;
  readonly visibleFrom: number;
  readonly visibleTo: number;
  readonly toggle: () => void;
}

function LaneLabel({ placed, isOpened, visibleFrom, visibleTo, toggle }: LaneLabelProps) {
  const { lane, top, height } = placed;
  const first = Math.max(0, Math.floor((visibleFrom - top) / ROW) - 1);
  const rows = isOpened
    ? lane.values.slice(first, first + Math.ceil((visibleTo - visibleFrom) / ROW) + 2)
    : [];
  const name = (
    <>
      <span class={lane.kind === 'header' ? 'tag header' : 'tag'}>{lane.name}</span>{' '}
      <Text value={lane.owner} />
    </>
  );
  return (
    <div class="lane-label" ref={place(top, height)}>
      {lane.values.length > 1 ? (
        <button type="button" class="lane-toggle" aria-expanded={isOpened} onClick={toggle}>
          {name} <span class="muted">{lane.values.length}</span>
        </button>
      ) : (
        <span class="lane-name">{name}</span>
      )}
      {rows.map((bar, row) => (
        <div
          key={bar.value}
          class="row-label"
          title={visibleText(bar.value)}
          ref={place((first + row + 1) * ROW + LANE_PADDING, ROW)}
        >
          <BarValue lane={lane} bar={bar} />
        </div>
      ))}
    </div>
  );
}

/** The policy allows no style attributes, but styles that a script sets. */
function place(top: number, height: number): (element: HTMLElement | null) => void {
  return (element) => {
    element?.style.setProperty('top', `${top}px`);
    element?.style.setProperty('height', `${height}px`);
  };
}

interface Hovered {
  readonly x: number;
  readonly y: number;
  readonly lane: Lane;
  readonly bar: Bar;
}

function barAt(
  placed: readonly PlacedLane[],
  { x, y }: { readonly x: number; readonly y: number },
  scrollTop: number,
  picture: Picture,
): Pick<Hovered, 'lane' | 'bar'> | null {
  const inside = placed.find(({ top, height }) => y + scrollTop >= top && y + scrollTop < top + height);
  if (inside === undefined) return null;
  const { lane, rows, top, isFolded, firstRow } = inside;
  const row = Math.floor((y + scrollTop - top - LANE_PADDING) / ROW) - firstRow;
  const bars = lane.bars.filter((bar, index) => {
    const extent = extentOf(bar, picture);
    return (
      extent !== null &&
      x >= extent.start - 1 &&
      x <= extent.end + 1 &&
      (isFolded || row < 0 || rows.rowOf[index] === row)
    );
  });
  const bar = bars.at(-1);
  return bar === undefined ? null : { lane, bar };
}

function Tooltip({ hovered, width }: { readonly hovered: Hovered; readonly width: number }) {
  const { x, y, lane, bar } = hovered;
  const style = (element: HTMLElement | null) => {
    element?.style.setProperty(
      x > width / 2 ? 'right' : 'left',
      `${x > width / 2 ? width - x + 12 : x + 12}px`,
    );
    element?.style.setProperty('top', `${y + 12}px`);
  };
  return (
    <div key={`${x > width / 2}`} class="tooltip" ref={style} aria-hidden="true">
      <strong>{lane.name}</strong>{' '}
      <Text value={bar.value.length > 400 ? `${bar.value.slice(0, 400)}…` : bar.value} />
      <br />
      {bar.from === null ? 'before what is loaded' : <Time value={timestampOf(bar.from)} />}
      {' – '}
      {bar.to === null ? 'not gone when last observed' : <Time value={timestampOf(bar.to)} />}
      {bar.lastSeen < (bar.to ?? Number.POSITIVE_INFINITY) && (
        <>
          <br />
          last seen <Time value={timestampOf(bar.lastSeen)} />
        </>
      )}
    </div>
  );
}

/** Makes a canvas as sharp as the screen. */
function contextOf(
  canvas: HTMLCanvasElement | null,
  width: number,
  height: number,
): CanvasRenderingContext2D | null {
  const context = canvas?.getContext('2d') ?? null;
  if (canvas === null || context === null) return null;
  const ratio = window.devicePixelRatio;
  const [columns, lines] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== columns || canvas.height !== lines) {
    canvas.width = columns;
    canvas.height = lines;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** The colours of the style sheet, again when the browser changes between light and dark. */
function usePalette(): Palette {
  const [scheme, setScheme] = useState(0);
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    const change = () => setScheme((count) => count + 1);
    query.addEventListener('change', change);
    return () => query.removeEventListener('change', change);
  }, []);
  return useMemo(() => {
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
    return {
      text: colour('text'),
      muted: colour('muted'),
      line: colour('line'),
      onBar: colour('on-bar'),
      cursor: colour('cursor'),
      unknown: colour('unknown'),
      records: [1, 2, 3, 4, 5, 6, 7, 8].map((number) => colour(`series-${number}`)),
      header: colour('series-header'),
      font: `12px ${colour('font-mono')}`,
    };
  }, [scheme]);
}
