// Prints what rate-limiter-flexible sends to Redis for one call about the key "KEY": the words of
// EVAL, each ended by a NUL. The package is given a client that only listens.
const { RateLimiterRedis } = require('rate-limiter-flexible');

let script;
const client = {
  status: 'ready',
  defineCommand: (_, { lua }) => { script = lua; },
  rlflxIncr: async (words) => {
    for (const word of ['EVAL', script, '1', ...words]) process.stdout.write(`${word}\0`);
    return [1, 1000];
  },
};

const limiter = new RateLimiterRedis({ storeClient: client, keyPrefix: '', points: 1e6, duration: 60 });
limiter.consume('KEY');
