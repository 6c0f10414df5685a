/** The values of settings that the command line, the environment and the configuration share. */
export const APPROVE_CHOICES = ['auto', 'deny', 'ask'] as const;
export const MODE_CHOICES = ['enabled', 'dry-run', 'disabled'] as const;
export const NOTIFY_CHOICES = ['off', 'bell', 'desktop'] as const;
export const EXEC_SANDBOX_CHOICES = ['on', 'off'] as const;
export const RUNTIME_CHOICES = ['quickjs', 'isolated-vm'] as const;
