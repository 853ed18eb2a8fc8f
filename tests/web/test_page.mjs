// The page of `stair report` in a real browser.   node test_page.mjs STAIR CHROMIUM [--keep FOLDER]
import { execFileSync } from 'node:child_process';
import { mkdtempSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Browser, pause } from './browser.mjs';

const [stair, chromium, , keep] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'stair-page-'));
const LARGEST_EMPTY = 300000; // bytes of a page without data
let passed = 0;

function check(name, good, seen = '') {
  if (!good) throw new Error(`FAILED: ${name} ${seen === '' ? '' : `(${JSON.stringify(seen)})`}`);
  passed++;
  console.log(`ok: ${name}`);
}

// ---- data -------------------------------------------------------------------------------------------

function write(name, command, results, options = { seed: 7 }) {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify({ stair: '0.1.0', command, model: 'square:tokens=1', options, results }));
  return path;
}

const evolve = [];
for (let k = 1; k <= 20; k++) {
  for (const start of ['uninformed', 'informed']) {
    const q = start === 'informed' ? 1 - 0.5 / k : 0.05 * k - 0.02;
    evolve.push({ alpha: k / 10, start, Q: [[q]], Q_error: [[0.0123]],
      errors: { bayes: 10 ** (-k / 5), bayes_error: 0.1 * 10 ** (-k / 5) } });
  }
}
const many = [];
for (let k = 0; k < 10000; k++) {
  many.push({ alpha: k / 5000, start: 'uninformed',
    Q: [[Math.sin(k / 700) + 0.05 * Math.sin(12.9898 * k * k)]], Q_error: [[0.02 + 0.02 * Math.sin(k) ** 2]] });
}
const HOSTILE = '</script><script>document.title="owned"</script><img src=x onerror=alert(1)>';

function page(name, ...more) {
  const out = join(folder, name);
  execFileSync(stair, ['report', ...more, '--out', out, '--force', '--quiet']);
  return out;
}

// ---- what is asked of a page ------------------------------------------------------------------------

const browser = await Browser.open(chromium);
const box = (selector, number = 0) => browser.ask(`(() => {
  const at = document.querySelectorAll(${JSON.stringify(selector)})[${number}];
  at.scrollIntoView({ block: 'center', behavior: 'instant' });
  const { left, top, width, height } = at.getBoundingClientRect();
  return { left, top, width, height };
})()`);
const text = (selector, number = 0) => browser.ask(
  `document.querySelectorAll(${JSON.stringify(selector)})[${number}].innerText`);
const press = async (selector, number = 0) => {
  const at = await box(selector, number);
  await browser.click(at.left + at.width / 2, at.top + at.height / 2);
  await browser.frame();
};
/** Pixels of a canvas that are no background, and a sum over all of them. */
const ink = (number = 0) => browser.ask(`(() => {
  const c = document.querySelectorAll('canvas')[${number}];
  const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(c, 0, 0);
  const { data } = copy.getImageData(0, 0, c.width, c.height);
  let count = 0, sum = 0;
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 40) { count++; sum = (sum * 31 + i * data[i]) % 1000003; }
  return { count, sum };
})()`);
const column = (name) => browser.ask(`(() => {
  const heads = [...document.querySelectorAll('th')].map((th) => th.innerText.trim());
  const c = heads.findIndex((h) => h.startsWith(${JSON.stringify(name)}));
  return [...document.querySelectorAll('tbody tr:not(.space)')].map((tr) => tr.children[c].innerText);
})()`);
const shoot = async (name) => {
  if (!keep) return;
  mkdirSync(keep, { recursive: true });
  writeFileSync(join(keep, name), await browser.picture());
};

async function opens() {
  const empty = page('empty.html', write('empty.json', 'evolve', []));
  check('a page without data is small', statSync(empty).size < LARGEST_EMPTY, statSync(empty).size);
  console.log(`a page without data has ${statSync(empty).size} bytes`);
  check('the licence of uPlot is on it', readFileSync(empty, 'utf8').includes('Permission is hereby granted, free of charge'));
  await browser.load(`file://${empty}`);
  await browser.load(`file://${page('evolve.html', write('evolve.json', 'evolve', evolve))}`);
  check('the file, its seed and version', /evolve\.json[^]*seed\s*7[^]*stair\s*0\.1\.0/.test(await text('.file')));
  check('two plots', (await browser.ask("document.querySelectorAll('canvas').length")) === 2);
  check('something is drawn', (await ink()).count > 2000, await ink());
  check('overlaps and errors', (await text('figcaption span')) + (await text('figcaption span', 1)) === 'OverlapsErrors');
  check('both starts', /^uninformed\s+informed$/.test(await text('.legend')), await text('.legend'));
  await shoot('light.png');
}

async function hovers() {
  const over = await box('.u-over');
  // uninformed, alpha = 1: Q11 = 0.48
  await browser.mouse('mouseMoved', over.left + over.width * 0.48, over.top + over.height * 0.5);
  await browser.frame();
  const tip = await text('.tip');
  check('hover shows value and error', /^uninformed\nalpha = [\d.]+\nQ11 = 0\.\d+ ± 0\.012\nrow \d+$/.test(tip), tip);
  const [, alpha, q] = tip.match(/alpha = ([\d.]+)\nQ11 = ([\d.]+)/);
  check('and the right ones', Math.abs(0.5 * alpha - 0.02 - q) < 1e-3, tip);
  await browser.mouse('mouseMoved', over.left + 5, over.top - 60);
  await browser.frame();
  check('it goes with the pointer', await browser.ask("document.querySelector('.tip').hidden"));
}

async function zooms() {
  const range = () => browser.ask('(({ min, max }) => [min, max])(window.stairPlots[0].plot.scales.x)');
  const whole = await range();
  const before = await ink();
  let over = await box('.u-over');
  await browser.drag([over.left + over.width * 0.3, over.top + 20], [over.left + over.width * 0.6, over.top + over.height - 40]);
  await browser.frame();
  const zoomed = await range();
  const share = (zoomed[1] - zoomed[0]) / (whole[1] - whole[0]);
  check('drag zooms', Math.abs(share - 0.3) < 0.02, share);
  check('and draws anew', (await ink()).sum !== before.sum);
  await shoot('zoomed.png');
  await press('.reset');
  check('the button shows all again', JSON.stringify(await range()) === JSON.stringify(whole));
  over = await box('.u-over');
  const middle = [over.left + over.width / 2, over.top + over.height / 2];
  await browser.click(...middle);
  await browser.mouse('mouseWheel', ...middle, { deltaX: 0, deltaY: -240 });
  await pause(100);
  await browser.frame();
  const wheeled = await range();
  check('the wheel zooms', wheeled[1] - wheeled[0] < 0.9 * (whole[1] - whole[0]), wheeled);
  await browser.key('Escape');
  await browser.frame();
  check('Escape shows all again', JSON.stringify(await range()) === JSON.stringify(whole));
}

async function toggles() {
  const before = await ink();
  await press('.legend button');
  const without = await ink();
  check('the legend hides a series', without.count < 0.9 * before.count, [before, without]);
  await press('.legend button');
  check('and shows it again', (await ink()).sum === before.sum);
  await browser.ask("document.querySelector('.legend button').focus()");
  await browser.key(' ');
  await browser.frame();
  check('so does the space bar', (await ink()).sum === without.sum);
  await browser.key('Enter');
  await browser.frame();
  check('and Enter', (await ink()).sum === before.sum);
  const bars = "[...document.querySelectorAll('.tools')][0].querySelectorAll('button')[4]";
  await browser.ask(`${bars}.click()`);
  await browser.frame();
  check('error bars go and come', (await ink()).count < before.count);
  await browser.ask(`${bars}.click()`);
}

/** Errors fall by decades: on a logarithmic axis their points lie on a line. */
async function logarithms() {
  const places = () => browser.ask(`(() => {
    const { plot, made } = window.stairPlots[1];
    return made.series[0].points.map((p) => plot.valToPos(p.y, 'y'));
  })()`);
  const bend = (y) => Math.abs(y[0] + y[y.length - 1] - 2 * y[Math.floor(y.length / 2)]) / Math.abs(y[0] - y[y.length - 1]);
  const flat = bend(await places());
  await press('.tools button:nth-child(3)', 1);
  const logarithmic = bend(await places());
  check('log axis', flat > 0.5 && logarithmic < 0.1, [flat, logarithmic]);
  await shoot('log.png');
  await press('.tools button:nth-child(3)', 1);
  check('and back', Math.abs(bend(await places()) - flat) < 1e-9);
}

async function keys() {
  await browser.ask("document.querySelector('.canvas').focus()");
  await browser.key('ArrowRight');
  await browser.key('ArrowRight');
  await browser.frame();
  check('arrows go from point to point', /alpha = 0\.2\nQ11 = 0\.080 ± 0\.012/.test(await text('.tip')), await text('.tip'));
  await browser.key('ArrowDown');
  await browser.frame();
  check('and from series to series', /^informed\nalpha = 0\.2\n/.test(await text('.tip')), await text('.tip'));
  check('said to those who do not see', /informed, alpha = 0.2, Q11/.test(
    await browser.ask("document.querySelector('.status').textContent")));
  await browser.key('+');
  await browser.frame();
  check('plus zooms', await browser.ask("document.querySelector('.area').classList.contains('zoomed')"));
  await browser.key('End');
  await browser.frame();
  check('a point outside is brought into view',
    /alpha = 2\n/.test(await text('.tip')) && !(await browser.ask("document.querySelector('.tip').hidden")));
  await browser.key('Escape');
}

async function sorts() {
  const head = (name) => browser.ask(
    `[...document.querySelectorAll('th')].findIndex((th) => th.innerText.startsWith(${JSON.stringify(name)}))`);
  const q = await head('Q11');
  const first = await column('Q11');
  const numbers = async () => (await column('Q11')).map(parseFloat);
  const ordered = (v, sign) => v.every((x, i) => !i || sign * (x - v[i - 1]) >= 0);
  await press('th button', q);
  check('a table sorts up', ordered(await numbers(), 1) && !ordered(first.map(parseFloat), 1));
  check('and says so', (await browser.ask(`document.querySelectorAll('th')[${q}].getAttribute('aria-sort')`)) === 'ascending');
  await browser.ask(`document.querySelectorAll('th button')[${q}].focus()`);
  await browser.key('Enter');
  await browser.frame();
  check('and down by the keyboard', ordered(await numbers(), -1));
  await press('th button', q);
  check('and back', String((await column('Q11')).slice(0, 15)) === String(first.slice(0, 15)), await column('Q11'));
  check('cells have their error', /^0\.030 ± 0\.012$/.test(first[0]), first[0]);
}

async function menus() {
  await browser.ask("document.querySelector('.axes').open = true");
  await browser.ask(`(() => {
    const x = document.querySelector('.axes select');
    x.value = 'start';
    x.dispatchEvent(new Event('change'));
  })()`);
  await browser.frame();
  check('another x, of words', (await browser.ask('window.stairPlots[0].made.labels.join()')) === 'uninformed,informed');
  await browser.ask(`[...document.querySelectorAll('.axes fieldset label')].find((l) => l.innerText.trim() === 'bayes').querySelector('input').click()`);
  await browser.frame();
  check('another y', (await browser.ask('window.stairPlots[0].made.series.map((s) => s.column).join()')).includes('bayes'));
  check('with its error', await browser.ask("window.stairPlots[0].choice.y.find((y) => y.column === 'bayes').error === 'bayes_error'"));
}

async function copies() {
  const line = await text('.line code');
  check('the command', line === 'stair evolve square --seed 7', line);
  await browser.call('Browser.grantPermissions', { permissions: ['clipboardReadWrite', 'clipboardSanitizedWrite'] });
  await press('.line button');
  await pause(100);
  check('is copied', (await browser.ask('navigator.clipboard.readText()')) === line);
}

async function themes() {
  const paper = () => browser.ask('getComputedStyle(document.body).backgroundColor');
  await browser.media({ 'prefers-color-scheme': 'light' });
  const light = await paper();
  const drawn = await ink();
  await browser.media({ 'prefers-color-scheme': 'dark' });
  await browser.frame();
  const dark = await paper();
  check('dark as the system has it', light !== dark);
  check('plots, too', (await ink()).sum !== drawn.sum);
  await shoot('dark.png');
  await press('.theme');
  check('light by the switch', (await paper()) === light);
  await press('.theme');
  check('dark by the switch', (await paper()) === dark);
  const paperPage = await browser.paper();
  check('it prints', paperPage.subarray(0, 5).toString() === '%PDF-' && paperPage.length > 10000, paperPage.length);
  await press('.theme');
  await browser.media({});
  await browser.resize(400, 800);
  await browser.frame();
  await pause(100);
  check('nothing sticks out of a narrow window', await browser.ask('document.documentElement.scrollWidth <= innerWidth'));
  await shoot('narrow.png');
  await browser.resize(1280, 900);
}

async function hostile() {
  const results = [{ [HOSTILE]: HOSTILE, alpha: 1, x: 2 }, { [HOSTILE]: 'b', alpha: 2, x: 3 }];
  const json = write('hostile.json', HOSTILE, results, { [HOSTILE]: HOSTILE, seed: HOSTILE });
  const csv = join(folder, 'hostile.csv');
  writeFileSync(csv, `a,b,${HOSTILE}\n1,2,${HOSTILE}\n2,3,${HOSTILE}\n`);
  for (const plain of [[], ['--plain']]) {
    await browser.load(`file://${page('hostile.html', json, csv, '--title', HOSTILE, ...plain)}`);
    check(`nothing of a hostile file runs${plain.join(' ')}`, (await browser.ask('document.title')) === HOSTILE &&
      (await browser.ask("document.querySelectorAll('img, script:not(#data)').length")) === (plain.length ? 0 : 1));
    check(`and it is shown as it is${plain.join(' ')}`, (await text('body')).includes(HOSTILE));
  }
}

/** A table wider than paper is folded into it; a long one has its names on every page. */
async function prints() {
  const wide = [];
  for (let row = 0; row < 8; row++) {
    wide.push(Object.fromEntries(Array.from({ length: 8 }, (_, c) => [[`q${c}`, 0.123456789 + c], [`q${c}_error`, 1e-8]]).flat()));
  }
  await browser.load(`file://${page('wide.html', write('wide.json', 'other', wide))}`);
  const width = () => browser.ask("document.querySelector('table').getBoundingClientRect().width");
  await browser.resize(720, 900); // a sheet of A4 less its margins
  const screen = await width();
  await browser.media({}, 'print');
  await browser.frame();
  const paper = await width();
  check('a wide table fits on paper', screen > 1000 && paper <= 720, [screen, paper]);
  check('its names have no box of their own there',
    (await browser.ask("getComputedStyle(document.querySelector('th button')).display")) === 'contents');
  await browser.media({});
  await browser.resize(1280, 900);
}

/** Seconds between frames while ten thousand points are zoomed and pointed at. */
async function runs() {
  await browser.load(`file://${page('many.html', write('many.json', 'evolve', many))}`);
  const over = await box('.u-over');
  check('ten thousand points are drawn', (await ink()).count > 5000);
  await browser.click(over.left + over.width / 2, over.top + over.height / 2);
  const measure = `new Promise((done) => {
    const work = [], between = [];
    let last = 0, frames = 0;
    const { plot } = window.stairPlots[0], stair = window.stairPlots[0];
    const step = async (now) => {
      if (last) between.push(now - last);
      last = now;
      if (++frames > 120) { stair.reset(); done({ work, between }); return; }
      const start = performance.now();
      stair.zoom(frames < 60 ? 0.99 : 1.01, 0.4, 0.5);
      const { left, top, width, height } = plot.over.getBoundingClientRect();
      plot.over.dispatchEvent(new MouseEvent('mousemove', { bubbles: true,
        clientX: left + width * (0.2 + 0.005 * frames), clientY: top + height / 2 }));
      await null; // uPlot draws in a microtask
      await null;
      work.push(performance.now() - start);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  })`;
  const middle = (v) => [...v].sort((a, b) => a - b)[Math.floor(v.length / 2)];
  const at = (v, share) => [...v].sort((a, b) => a - b)[Math.floor(v.length * share)];
  let best = null;
  for (let k = 0; k < 3; k++) { // other work on the machine only ever adds
    const got = await browser.ask(measure);
    if (!best || middle(got.work) < middle(best.work)) best = got;
  }
  console.log(`10,000 points with error bars, a zoom and a hover in every frame: work per frame median ${middle(best.work).toFixed(1)} ms, ` +
    `95% ${at(best.work, 0.95).toFixed(1)} ms; from frame to frame median ${middle(best.between).toFixed(1)} ms, ` +
    `95% ${at(best.between, 0.95).toFixed(1)} ms`);
  check('a frame leaves time for 60 a second', middle(best.work) < 1000 / 60, middle(best.work));
  check('tables of ten thousand rows lay out few', (await browser.ask("document.querySelectorAll('tbody tr').length")) < 100);
  await browser.ask("document.querySelector('.scroll').scrollTop = 28 * 5000");
  await browser.frame();
  check('and scroll', (await column('alpha')).some((v) => Math.abs(v - 1) < 0.01));
}

async function plain() {
  await browser.load(`file://${page('plain.html', join(folder, 'evolve.json'), '--plain')}`);
  check('--plain says what it is', /plots are pictures/.test(await text('.note')));
  check('--plain draws', (await browser.ask("document.querySelectorAll('svg.plot circle').length")) === 80);
  check('--plain has all rows', (await browser.ask("document.querySelectorAll('tbody tr').length")) === 40);
}

async function commands() {
  const kinds = [['evolve', 'square', '--alpha', '0.3:0.7:0.1', '--precision', '0.1'],
    ['threshold', 'square', '--precision', '0.1'], ['channel', 'square', '--points', '8'],
    ['diagnose', 'square', '--points', '20'], ['models']];
  const files = kinds.flatMap(([command, ...more]) => ['json', 'csv', 'npz'].map((format) => {
    const path = join(folder, `${command}.${format}`);
    if (format === 'npz' && command === 'models') return null;
    if (format === 'json' && command === 'models') writeFileSync(path, execFileSync(stair, [command, '--json']));
    else if (command === 'models') writeFileSync(path, execFileSync(stair, [command, '--csv']));
    else execFileSync(stair, [command, ...more, '--out', path, '--force', '--quiet'], { stdio: 'ignore' });
    return path;
  })).filter(Boolean);
  await browser.load(`file://${page('commands.html', ...files)}`);
  check('files of several commands and formats', (await browser.ask("document.querySelectorAll('.file').length")) === files.length);
  check('with their plots', (await browser.ask("document.querySelectorAll('canvas').length")) >= 12);
}

try {
  for (const part of [opens, hovers, zooms, toggles, logarithms, keys, sorts, menus, copies, themes, prints, hostile, runs, plain, commands]) {
    await part();
    check(`${part.name}: no complaint in the console`, browser.trouble.length === 0, browser.trouble);
  }
  check('nothing is loaded but the pages', browser.requests.every((url) => /^(file|data):/.test(url)), browser.requests);
  console.log(`${passed} passed, 0 failed`);
} catch (error) {
  console.log(error.stack);
  console.log(`${passed} passed, 1 failed`);
  process.exitCode = 1;
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
