// One plot: uPlot draws axes and lines; points, error bars, zoom, the value at the pointer and the keyboard
// are here.
import uPlot from 'uplot';
import { element } from './dom.js';
import { short, withError } from './format.js';
import { makeSeries } from './series.js';

const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
const COLOURS = 8; // in the style
const NEAR = 40; // pixels from the pointer to a point that is shown
const MANY = 1500; // points of a series from which they are squares, which are fast
const HEIGHT = 320;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Plot {
  /** choice: as makeSeries takes it, with lines and bars: whether these are drawn */
  constructor(table, choice) {
    this.table = table;
    this.choice = choice;
    this.hidden = new Set();
    this.status = element('p.status', { 'aria-live': 'polite' });
    this.tip = element('div.tip', { hidden: true });
    this.mark = element('div.mark', { hidden: true });
    this.host = element('div.canvas', {
      tabindex: '0',
      role: 'application',
      'aria-label': 'Plot. Arrows: next point, next series. Plus, minus: zoom. Shift and arrows: move. Escape: all.',
      onkeydown: (event) => this.key(event),
      onblur: () => this.show(null),
    });
    this.element = element('div.area', {}, this.host, this.status);
    new ResizeObserver(() => this.resize()).observe(this.host);
    this.update();
  }

  /** New data or axes: everything again. */
  update() {
    this.made = makeSeries(this.table, this.choice);
    this.view = null;
    this.at = null;
    this.draw();
  }

  draw() {
    if (this.plot) this.plot.destroy();
    this.show(null);
    const width = this.host.clientWidth;
    if (!width) return; // not laid out yet: resize() calls again
    this.plot = new uPlot(this.options(width), [this.made.xs, ...this.made.series.map((s) => s.values)], this.host);
    this.plot.over.append(this.mark, this.tip);
    this.plot.over.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    this.plot.over.addEventListener('mousedown', () => this.host.focus({ preventScroll: true }));
    this.plot.over.addEventListener('mouseleave', () => this.show(null));
    this.plot.over.addEventListener('dblclick', () => this.reset());
  }

  resize() {
    const width = this.host.clientWidth;
    if (!width) return;
    if (!this.plot) this.draw();
    else if (this.plot.width !== width) this.plot.setSize({ width, height: HEIGHT });
  }

  range(key) {
    return (this.view || this.made.ranges)[key];
  }

  options(width) {
    const ink = colour('--muted');
    const axis = {
      stroke: ink,
      grid: { stroke: colour('--grid'), width: 1 },
      ticks: { stroke: colour('--grid'), width: 1, size: 5 },
      font: '12px system-ui, sans-serif',
      labelFont: '12px system-ui, sans-serif',
    };
    const { labels } = this.made;
    const single = this.choice.y.length === 1 ? this.choice.y[0].column : null;
    return {
      width,
      height: HEIGHT,
      padding: [10, 14, 0, 0],
      legend: { show: false },
      cursor: { points: { show: false }, drag: { x: true, y: true, uni: 24, setScale: false } },
      scales: {
        x: { time: false, distr: this.choice.logX && !labels ? 3 : 1, range: () => this.range('x') },
        y: { distr: this.choice.logY ? 3 : 1, range: () => this.range('y') },
      },
      axes: [
        {
          ...axis,
          label: this.choice.x,
          labelSize: 22,
          size: 34,
          space: labels ? 24 : 60,
          ...(labels ? { splits: () => labels.map((_, i) => i), values: () => this.words(labels) } : ticks(this.choice.logX)),
        },
        { ...axis, size: 64, ...(single ? { label: single, labelSize: 22 } : {}), ...ticks(this.choice.logY) },
      ],
      series: [{}, ...this.made.series.map((s) => this.seriesOptions(s))],
      hooks: {
        draw: [() => this.drawPoints()],
        setCursor: [() => this.hover()],
        setSelect: [() => this.select()],
      },
    };
  }

  /** Words under an axis, cut to the room there is. */
  words(labels) {
    const room = Math.floor((this.host.clientWidth - 80) / labels.length / 7);
    return labels.map((word) => (room < 3 ? '' : word.length > room ? `${word.slice(0, room - 1)}…` : word));
  }

  seriesOptions(s) {
    return {
      label: s.label,
      show: !this.hidden.has(s.label),
      stroke: colour(`--s${s.colour % COLOURS}`),
      width: this.choice.lines ? 2 : 0, // even: uPlot shifts odd widths by half a pixel
      dash: DASHES[s.dash % DASHES.length],
      spanGaps: true,
      points: { show: false },
      ...(this.choice.lines ? {} : { paths: () => null }),
    };
  }

  // ---- points and error bars, on the canvas --------------------------------------------------------

  drawPoints() {
    const u = this.plot;
    if (!u) return;
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    this.made.series.forEach((s, k) => {
      if (!u.series[k + 1].show) return;
      ctx.strokeStyle = ctx.fillStyle = u.series[k + 1].stroke();
      const seen = this.seen(s.points);
      if (this.choice.bars) this.drawBars(ctx, seen);
      if (!this.choice.lines || seen.length * 6 < bbox.width / devicePixelRatio) this.drawMarks(ctx, seen);
    });
    ctx.restore();
  }

  /** Points between the ends of the axis x. */
  seen(points) {
    const { min, max } = this.plot.scales.x;
    let first = 0;
    let last = points.length;
    while (first < last && points[first].x < min) first++;
    while (last > first && points[last - 1].x > max) last--;
    return first === 0 && last === points.length ? points : points.slice(first, last);
  }

  drawBars(ctx, points) {
    const u = this.plot;
    const ratio = devicePixelRatio;
    const cap = points.length < 200 ? 3 * ratio : 0;
    const bottom = u.scales.y.min;
    ctx.lineWidth = ratio;
    ctx.beginPath();
    for (const p of points) {
      if (!(p.error > 0)) continue;
      const x = u.valToPos(p.x, 'x', true);
      const low = this.choice.logY && p.y - p.error <= 0 ? bottom : p.y - p.error;
      const a = u.valToPos(low, 'y', true);
      const b = u.valToPos(p.y + p.error, 'y', true);
      ctx.moveTo(x, a);
      ctx.lineTo(x, b);
      if (!cap || a - b < 2 * ratio) continue;
      ctx.moveTo(x - cap, a);
      ctx.lineTo(x + cap, a);
      ctx.moveTo(x - cap, b);
      ctx.lineTo(x + cap, b);
    }
    ctx.stroke();
  }

  drawMarks(ctx, points) {
    const u = this.plot;
    const size = (this.choice.lines ? 2.2 : points.length < 200 ? 3.6 : 2) * devicePixelRatio;
    ctx.beginPath();
    for (const p of points) {
      const x = u.valToPos(p.x, 'x', true);
      const y = u.valToPos(p.y, 'y', true);
      if (points.length > MANY) ctx.rect(x - size / 2, y - size / 2, size, size);
      else {
        ctx.moveTo(x + size, y);
        ctx.arc(x, y, size, 0, 2 * Math.PI);
      }
    }
    ctx.fill();
  }

  // ---- the value at the pointer --------------------------------------------------------------------

  /** The nearest point of a series that is shown. */
  nearest(left, top) {
    const u = this.plot;
    let best = null;
    let distance = NEAR * NEAR;
    this.made.series.forEach((s, k) => {
      if (!u.series[k + 1].show) return;
      const from = u.posToVal(left - NEAR, 'x');
      const to = u.posToVal(left + NEAR, 'x');
      for (let i = lowerBound(s.points, from); i < s.points.length && s.points[i].x <= to; i++) {
        const dx = u.valToPos(s.points[i].x, 'x') - left;
        const dy = u.valToPos(s.points[i].y, 'y') - top;
        if (dx * dx + dy * dy < distance) {
          distance = dx * dx + dy * dy;
          best = { series: k, point: i };
        }
      }
    });
    return best;
  }

  hover() {
    const { left, top } = this.plot.cursor;
    if (left < 0 || this.keys) return;
    this.show(this.nearest(left, top));
  }

  text(at) {
    const s = this.made.series[at.series];
    const p = s.points[at.point];
    const x = this.made.labels ? this.made.labels[p.x] : short(p.x, 8);
    return [s.label, `${this.choice.x} = ${x}`, `${s.column} = ${withError(p.y, p.error)}`, `row ${p.row + 1}`];
  }

  show(at) {
    this.at = at;
    this.tip.hidden = this.mark.hidden = !at;
    if (!at) return;
    const u = this.plot;
    const s = this.made.series[at.series];
    const p = s.points[at.point];
    const x = u.valToPos(p.x, 'x');
    const y = u.valToPos(p.y, 'y');
    const inside = x >= 0 && x <= u.over.clientWidth && y >= 0 && y <= u.over.clientHeight;
    this.tip.hidden = this.mark.hidden = !inside;
    this.mark.style.transform = `translate(${x}px, ${y}px)`;
    this.mark.style.borderColor = u.series[at.series + 1].stroke();
    const lines = this.text(at);
    this.tip.replaceChildren(
      element('b', {}, lines[0]), ...lines.slice(1).map((line) => element('div', {}, line)));
    const right = x > u.over.clientWidth / 2;
    const below = y < u.over.clientHeight / 3;
    this.tip.style.transform =
      `translate(${x + (right ? -12 : 12)}px, ${y + (below ? 12 : -12)}px) ` +
      `translate(${right ? '-100%' : '0'}, ${below ? '0' : '-100%'})`;
  }

  // ---- zoom ----------------------------------------------------------------------------------------

  set(view) {
    this.view = view;
    const x = this.range('x');
    const y = this.range('y');
    this.plot.batch(() => {
      this.plot.setScale('x', { min: x[0], max: x[1] });
      this.plot.setScale('y', { min: y[0], max: y[1] });
    });
    this.element.classList.toggle('zoomed', view !== null);
    if (this.keys && this.at) this.show(this.at);
    else this.show(null);
  }

  reset() {
    this.set(null);
  }

  /** Shrinks an axis by `factor` around a place from 0 to 1, or moves it by a share. */
  scaled(key, factor, place, move = 0) {
    const log = key === 'x' ? this.choice.logX && !this.made.labels : this.choice.logY;
    const [low, high] = this.range(key).map((v) => (log ? Math.log(v) : v));
    const centre = low + (high - low) * place;
    const shift = (high - low) * move;
    const ends = [centre - (centre - low) * factor + shift, centre + (high - centre) * factor + shift];
    return ends.map((v) => (log ? Math.exp(v) : v));
  }

  zoom(factor, placeX = 0.5, placeY = 0.5) {
    const view = { x: this.scaled('x', factor, placeX), y: this.scaled('y', factor, placeY) };
    const wide = (key) => view[key][1] - view[key][0];
    if (!(wide('x') > 1e-12 * Math.abs(view.x[1])) || !(wide('y') > 1e-12 * Math.abs(view.y[1]))) return;
    this.set(view);
  }

  pan(x, y) {
    this.set({ x: this.scaled('x', 1, 0.5, x), y: this.scaled('y', 1, 0.5, y) });
  }

  /** The wheel scrolls the page until the plot was clicked; with Ctrl it always zooms. */
  wheel(event) {
    if (!event.ctrlKey && document.activeElement !== this.host) return;
    event.preventDefault();
    const { over } = this.plot;
    const box = over.getBoundingClientRect();
    this.turned = (this.turned || 0) + Math.max(-60, Math.min(60, event.deltaY));
    const place = [(event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height];
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.zoom(Math.exp(this.turned / 250), place[0], place[1]);
      this.turned = 0;
    });
  }

  select() {
    const u = this.plot;
    const { left, top, width, height } = u.select;
    if (width < 4 && height < 4) return;
    const whole = { x: this.range('x'), y: this.range('y') };
    const x = width >= 4 ? [u.posToVal(left, 'x'), u.posToVal(left + width, 'x')] : whole.x;
    const y = height >= 4 ? [u.posToVal(top + height, 'y'), u.posToVal(top, 'y')] : whole.y;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.set({ x, y });
  }

  // ---- series and keyboard -------------------------------------------------------------------------

  toggle(label, shown) {
    if (shown) this.hidden.delete(label);
    else this.hidden.add(label);
    const k = this.made.series.findIndex((s) => s.label === label);
    if (this.plot && k >= 0) this.plot.setSeries(k + 1, { show: shown });
    this.show(null);
  }

  key(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const move = moves[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey || !this.plot) return;
    if (move && event.shiftKey) this.pan(0.1 * move[0], -0.1 * move[1]);
    else if (move) this.step(...move);
    else if (event.key === 'Home' || event.key === 'End') this.step(event.key === 'Home' ? -Infinity : Infinity, 0);
    else if (event.key === '+' || event.key === '=') this.zoom(0.8, ...this.focus());
    else if (event.key === '-' || event.key === '_') this.zoom(1.25, ...this.focus());
    else if (event.key === 'Escape' || event.key === '0') this.reset();
    else return;
    event.preventDefault();
  }

  /** Where zooming by keys stays put: the point at hand, or the middle. */
  focus() {
    if (!this.at) return [0.5, 0.5];
    const p = this.made.series[this.at.series].points[this.at.point];
    const { over } = this.plot;
    return [this.plot.valToPos(p.x, 'x') / over.clientWidth, 1 - this.plot.valToPos(p.y, 'y') / over.clientHeight];
  }

  /** To the next point, or to the same x of the next series that is shown. */
  step(along, across) {
    const shown = this.made.series.map((s, k) => k).filter((k) => this.plot.series[k + 1].show);
    if (!shown.length) return;
    this.keys = true;
    let { series, point } = this.at || { series: shown[0], point: -1 };
    if (across) {
      const { x } = this.made.series[series].points[Math.max(point, 0)];
      series = shown[(shown.indexOf(series) + across + shown.length) % shown.length];
      point = Math.min(lowerBound(this.made.series[series].points, x), this.made.series[series].points.length - 1);
    } else point = Math.max(0, Math.min(this.made.series[series].points.length - 1, point + along));
    this.bring({ series, point });
    this.status.textContent = this.text(this.at).join(', ');
    clearTimeout(this.released);
    this.released = setTimeout(() => (this.keys = false), 300);
  }

  /** Shows a point, and moves the view where it lies outside. */
  bring(at) {
    const p = this.made.series[at.series].points[at.point];
    this.at = at;
    const { x, y } = this.plot.scales;
    if (p.x < x.min || p.x > x.max || p.y < y.min || p.y > y.max) {
      const [fx, fy] = this.focus();
      this.pan(fx < 0 || fx > 1 ? fx - 0.5 : 0, fy < 0 || fy > 1 ? fy - 0.5 : 0);
    }
    this.show(at);
  }
}

/** Places and labels of the ticks of an axis of numbers. */
function ticks(log) {
  const labels = { values: (u, splits) => splits.map((v) => (v == null ? '' : short(v, 6))) };
  if (!log) return labels;
  return { ...labels, splits: (u, axis, low, high) => logTicks(low, high), filter: (u, splits) => splits };
}

/** Powers of ten, six or so; on a short axis also 2 and 5 times those, on a very short one even steps. */
function logTicks(low, high) {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const by = Math.ceil((last - first) / 7);
  const found = [];
  for (let k = Math.ceil(first / by) * by; k <= last; k += by) {
    for (const digit of last - first <= 3 ? [1, 2, 5] : [1]) found.push(Number(`${digit}e${k}`));
  }
  const inside = found.filter((v) => v >= low && v <= high);
  if (inside.length > 2) return inside;
  const step = 10 ** Math.floor(Math.log10((high - low) / 2));
  const even = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) even.push(k * step);
  return even.filter((_, k) => k % Math.ceil(even.length / 7) === 0);
}

/** The first point that is not left of x. */
function lowerBound(points, x) {
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle].x < x) low = middle + 1;
    else high = middle;
  }
  return low;
}
