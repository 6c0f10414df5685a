import { describeWithPostgres, newSchemaUrl } from './support/test-postgres.js';
import { postgresLaws } from './support/postgres-laws.js';

describeWithPostgres('threads, runs, events and scripts in PostgreSQL', () => postgresLaws(newSchemaUrl));
