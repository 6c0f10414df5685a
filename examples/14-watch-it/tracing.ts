// Registers OpenTelemetry's SDK. Load it before everything else: node --import ./tracing.ts …
import { trace } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';

/** In place of an exporter to a collector, such as that of @opentelemetry/exporter-trace-otlp-http. */
export const exporter = new InMemorySpanExporter();

trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
