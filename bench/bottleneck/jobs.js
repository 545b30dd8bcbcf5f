// What the Rust side asks of its throttles, asked of bottleneck. Prints figures, parted by spaces.
//   jobs.js one|many|queued JOBS     nanoseconds per job of the wall clock and of the processor
//   jobs.js rate PER_SECOND SECONDS  when each job began, in microseconds
//   jobs.js waiters JOBS             bytes per job that waits, seconds until all have gone
const Bottleneck = require('bottleneck');

const job = async () => {};
const [kind, ...numbers] = process.argv.slice(2);
const [first, second] = numbers.map(Number);

// As many at a time as there are to be at once.
async function run(limiter, jobs, atOnce) {
  for (let done = 0; done < jobs; done += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, () => limiter.schedule(job)));
  }
}

async function cost(options, atOnce, jobs) {
  const limiter = new Bottleneck(options);
  await run(limiter, jobs / 10, Math.min(atOnce, jobs / 10));
  const processor = process.cpuUsage();
  const begun = process.hrtime.bigint();
  await run(limiter, jobs, atOnce);
  const wall = Number(process.hrtime.bigint() - begun);
  const { user, system } = process.cpuUsage(processor);
  console.log(wall / jobs, (user + system) * 1000 / jobs);
}

async function rate(perSecond, seconds) {
  const limiter = new Bottleneck({ minTime: 1000 / perSecond });
  const times = [];
  const begun = process.hrtime.bigint();
  const note = async () => { times.push(Number(process.hrtime.bigint() - begun) / 1000); };
  for (let jobs = 0; jobs < perSecond * seconds * 1.1; jobs += 1) limiter.schedule(note);
  await new Promise((resolve) => { setTimeout(resolve, seconds * 1000); });
  console.log(times.map(Math.round).join(' '));
  process.exit();
}

async function waiters(jobs) {
  const limiter = new Bottleneck({ maxConcurrent: 1 });
  let free;
  const held = limiter.schedule(() => new Promise((resolve) => { free = resolve; }));
  while (!free) await new Promise(setImmediate);
  global.gc();
  const before = process.memoryUsage().rss;
  const waiting = Array.from({ length: jobs }, () => limiter.schedule(job));
  await new Promise(setImmediate);
  global.gc();
  const bytes = (process.memoryUsage().rss - before) / jobs;
  const begun = process.hrtime.bigint();
  await limiter.updateSettings({ maxConcurrent: null });
  free();
  await Promise.all([held, ...waiting]);
  console.log(bytes, Number(process.hrtime.bigint() - begun) / 1e9);
}

const limits = { reservoir: 1e9 };
const kinds = {
  one: () => cost(limits, 1, first),
  many: () => cost(limits, 1000, first),
  queued: () => cost({ ...limits, maxConcurrent: 1 }, 1000, first),
  rate: () => rate(first, second),
  waiters: () => waiters(first),
};
kinds[kind]();
