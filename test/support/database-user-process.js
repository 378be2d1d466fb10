// A process of its own that uses a database: it opens the one that its argument names, and answers each statement that it
// is sent with its rows, or an error's text. Runs the compiled program, which tells it apart from the tests' own.
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../dist/database/client.js', import.meta.url));
const { openDatabase } = await import(program);

const database = await openDatabase(JSON.parse(process.argv[2] ?? '{}'));
const connection = await database.pool.connect();

process.on('message', async (sql) => {
  const answer = connection
    .query(sql)
    .then(/** @param {{ rows: object[] }} result */ ({ rows }) => rows, String);
  process.send?.(await answer);
});
process.once('disconnect', async () => {
  connection.release();
  await database.close();
});
process.send?.([{ createdNow: database.createdNow }]);
