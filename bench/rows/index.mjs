import * as cachedInput from './cached-input.mjs';
import * as catalog from './catalog.mjs';
import * as cli from './cli.mjs';
import * as coldStart from './cold-start.mjs';
import * as deltaToEvent from './delta-to-event.mjs';
import * as detector from './detector.mjs';
import * as economy from './economy.mjs';
import * as economyBfcl from './economy-bfcl.mjs';
import * as economyTau2 from './economy-tau2.mjs';
import * as economyVariables from './economy-variables.mjs';
import * as exec from './exec.mjs';
import * as idle from './idle.mjs';
import * as keptScripts from './kept-scripts.mjs';
import * as leftovers from './leftovers.mjs';
import * as mcpGateway from './mcp-gateway.mjs';
import * as mcpServers from './mcp-servers.mjs';
import * as memory from './memory.mjs';
import * as neighbour from './neighbour.mjs';
import * as newSource from './new-source.mjs';
import * as patch from './patch.mjs';
import * as reducer from './reducer.mjs';
import * as researchScenario from './research-scenario.mjs';
import * as sandboxAlone from './sandbox-alone.mjs';
import * as scale from './scale.mjs';
import * as scaleQueue from './scale-queue.mjs';
import * as scaleScripts from './scale-scripts.mjs';
import * as scaleStreams from './scale-streams.mjs';
import * as scaleTables from './scale-tables.mjs';
import * as schedule from './schedule.mjs';
import * as search from './search.mjs';
import * as secondEngine from './second-engine.mjs';
import * as server from './server.mjs';
import * as suspension from './suspension.mjs';
import * as throughput from './throughput.mjs';
import * as toolCalls from './tool-calls.mjs';
import * as turnOverhead from './turn-overhead.mjs';
import * as typeCheck from './type-check.mjs';
import * as waitingScripts from './waiting-scripts.mjs';
import * as warmScript from './warm-script.mjs';
import * as webPage from './web-page.mjs';

/**
 * Every module measures one subject and returns its rows.
 *
 * @type {readonly { name: string, measure: (bench: { contenders: object[], effort: object }) => Promise<object[]> }[]}
 */
export const ROWS = [
  warmScript,
  newSource,
  typeCheck,
  coldStart,
  toolCalls,
  schedule,
  throughput,
  neighbour,
  waitingScripts,
  suspension,
  secondEngine,
  keptScripts,
  deltaToEvent,
  turnOverhead,
  cachedInput,
  server,
  scale,
  scaleQueue,
  scaleScripts,
  scaleStreams,
  scaleTables,
  economy,
  economyBfcl,
  economyTau2,
  economyVariables,
  researchScenario,
  detector,
  reducer,
  catalog,
  mcpGateway,
  mcpServers,
  patch,
  search,
  exec,
  idle,
  leftovers,
  memory,
  cli,
  sandboxAlone,
  webPage,
];
