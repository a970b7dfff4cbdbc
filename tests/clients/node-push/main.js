// Does known work and sends its own profiles with Pyroscope's Node SDK, unchanged, until its standard input ends: time in
// burnHot under the label region=north, objects held by openAccounts.
//
//	node main.js URL SERVICE
'use strict';
const Pyroscope = require('@pyroscope/nodejs');

const accounts = [];
let ended = false;

// Where nearly all of the time goes.
function burnHot(milliseconds) {
  let x = 1;
  for (const until = Date.now() + milliseconds; Date.now() < until; ) {
    for (let i = 0; i < 100000; i++) x = (Math.imul(x, 1664525) + 1013904223) | 0;
  }
  return x;
}

function openAccounts() {
  for (let i = 0; i < 400000; i++) accounts.push({ number: i, owner: `owner ${i}` });
}

async function turn() {
  if (ended) {
    await Pyroscope.stop();
    return;
  }
  Pyroscope.wrapWithLabels({ region: 'north' }, burnHot, 50);
  // Gives the loop a turn, in which timers of the SDK and uploads go on.
  setTimeout(turn, 5);
}

if (process.argv.length !== 4) {
  console.error('usage: main.js URL SERVICE');
  process.exit(2);
}
Pyroscope.init({
  serverAddress: process.argv[2],
  appName: process.argv[3],
  tags: { client: 'pyroscope-nodejs', 'k8s-app': 'bank' },
  flushIntervalMs: 1000,
  wall: { collectCpuTime: true },
});
Pyroscope.start();
process.stdin.on('end', () => (ended = true));
process.stdin.resume();
openAccounts();
turn();
