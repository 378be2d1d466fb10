// A process of its own that uses a database: it opens the one that its argument names, and runs the
// statements that it is sent. Runs the compiled program, which tells it apart from the tests' own.
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../dist/database/client.js', import.meta.url));
const { openDatabase } = await import(program);

/** @typedef {{ number: number, sql: string }} Request */

const database = await openDatabase(JSON.parse(process.argv[2] ?? '{}'));
const connection = await database.pool.connect();

/** @param {Request} request */
async function answer({ number, sql }) {
  try {
    const { rows } = await connection.query(sql);
    process.send?.({ number, rows });
  } catch (error) {
    process.send?.({ number, error: String(error) });
  }
}

process.on('message', (request) => {
  void answer(/** @type {Request} */ (request));
});
process.once('disconnect', async () => {
  connection.release();
  await database.close();
});
const { createdNow } = database;
process.send?.({ number: 0, rows: [{ createdNow }] });
