import { h, render } from 'preact';
import { App } from './app.js';
import { PickerConnection } from './connection.js';

const root = /** @type {HTMLElement} */ (document.querySelector('#app'));
root.replaceChildren();

let isDue = false;
function draw() {
  isDue = false;
  render(h(App, { connection, state: connection.state, changed }), root);
}

/** Several changes within one frame are drawn once. */
function changed() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(draw);
}

const connection = new PickerConnection(changed);
draw();
void connection.run();
