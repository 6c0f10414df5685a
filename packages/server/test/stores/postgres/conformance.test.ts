import { describeWithPostgres, newSchemaUrl } from './support/test-postgres.js';
import { postgresLaws } from './support/postgres-laws.js';

describeWithPostgres('PostgreSQL', () => postgresLaws(newSchemaUrl));
