// A headless Chromium driven by its devtools protocol over a pipe: no package is needed.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PATIENCE = 60000; // ms that one answer may take on a busy machine
export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export class Browser {
  static async open(program, { width = 1280, height = 900 } = {}) {
    const browser = new Browser();
    browser.folder = mkdtempSync(join(tmpdir(), 'stair-browser-'));
    browser.process = spawn(program, [
      '--headless=new', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
      '--disable-dev-shm-usage', '--no-first-run', '--disable-extensions', '--disable-background-networking',
      `--user-data-dir=${browser.folder}`, `--window-size=${width},${height}`, 'about:blank',
    ], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    browser.next = 1;
    browser.calls = new Map();
    browser.trouble = []; // what the page complains about
    browser.requests = []; // what it loads
    browser.rest = '';
    browser.process.stdio[4].on('data', (data) => browser.receive(data));
    browser.process.on('exit', () => browser.calls.forEach(({ fail }) => fail(new Error('Chromium has ended'))));
    const { targetInfos } = await browser.call('Target.getTargets');
    const { targetId } = targetInfos.find(({ type }) => type === 'page');
    browser.session = (await browser.call('Target.attachToTarget', { targetId, flatten: true })).sessionId;
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await browser.call(`${domain}.enable`);
    await browser.resize(width, height);
    return browser;
  }

  call(method, params = {}) {
    const id = this.next++;
    this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId: this.session })}\0`);
    return new Promise((done, fail) => {
      const timer = setTimeout(() => fail(new Error(`${method}: no answer`)), PATIENCE);
      this.calls.set(id, { done, fail, timer });
    });
  }

  receive(data) {
    const parts = (this.rest + data.toString()).split('\0');
    this.rest = parts.pop();
    for (const part of parts) this.take(JSON.parse(part));
  }

  take(message) {
    if (message.id) {
      const { done, fail, timer } = this.calls.get(message.id);
      this.calls.delete(message.id);
      clearTimeout(timer);
      if (message.error) fail(new Error(message.error.message));
      else done(message.result);
      return;
    }
    const { method, params } = message;
    if (method === 'Runtime.exceptionThrown') {
      const { exception, text } = params.exceptionDetails;
      this.trouble.push((exception && exception.description) || text);
    }
    if (method === 'Log.entryAdded' && params.entry.level !== 'verbose') this.trouble.push(params.entry.text);
    if (method === 'Runtime.consoleAPICalled')
      this.trouble.push(params.args.map((a) => a.value || a.description).join(' '));
    if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url);
    if (method === 'Page.loadEventFired') this.loaded = true;
  }

  async load(url) {
    this.loaded = false;
    await this.call('Page.navigate', { url });
    for (let k = 0; k < 600 && !this.loaded; k++) await pause(50);
    if (!this.loaded) throw new Error(`${url} does not load`);
    await this.frame();
  }

  /** The value of an expression in the page. */
  async ask(expression) {
    const { result, exceptionDetails } = await this.call('Runtime.evaluate',
      { expression, returnByValue: true, awaitPromise: true, userGesture: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception.description}`);
    return result.value;
  }

  /** Until the page has been painted twice. */
  frame() {
    return this.ask('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))');
  }

  resize(width, height) {
    return this.call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
  }

  media(features, media = '') {
    return this.call('Emulation.setEmulatedMedia',
      { media, features: Object.entries(features).map(([name, value]) => ({ name, value })) });
  }

  mouse(type, x, y, more = {}) {
    return this.call('Input.dispatchMouseEvent', { type, x, y, ...more });
  }

  async click(x, y) {
    await this.mouse('mouseMoved', x, y);
    await this.mouse('mousePressed', x, y, { button: 'left', clickCount: 1 });
    await this.mouse('mouseReleased', x, y, { button: 'left', clickCount: 1 });
  }

  async drag(from, to) {
    await this.mouse('mouseMoved', ...from);
    await this.mouse('mousePressed', ...from, { button: 'left', clickCount: 1 });
    for (let k = 1; k <= 5; k++)
      await this.mouse('mouseMoved', ...from.map((v, i) => v + ((to[i] - v) * k) / 5), { button: 'left', buttons: 1 });
    await this.mouse('mouseReleased', ...to, { button: 'left', clickCount: 1 });
  }

  async key(key, modifiers = 0) {
    const text = key.length === 1 ? key : key === 'Enter' ? '\r' : undefined;
    const codes = { Enter: 13, Escape: 27, Tab: 9, End: 35, Home: 36, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, ' ': 32 };
    const event = { key, text, modifiers, windowsVirtualKeyCode: codes[key] };
    await this.call('Input.dispatchKeyEvent', { type: 'keyDown', ...event });
    await this.call('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  }

  async picture(whole = false) {
    const { data } = await this.call('Page.captureScreenshot', { format: 'png', captureBeyondViewport: whole });
    return Buffer.from(data, 'base64');
  }

  async paper() {
    const { data } = await this.call('Page.printToPDF', { printBackground: true });
    return Buffer.from(data, 'base64');
  }

  async close() {
    const ended = new Promise((done) => this.process.once('exit', done));
    await this.call('Browser.close').catch(() => {});
    await Promise.race([ended, pause(5000)]);
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
