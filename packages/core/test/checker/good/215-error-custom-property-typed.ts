// style: error custom property typed
interface ApiError { code: number } const e: ApiError = Object.assign(new Error('x'), { code: 5 }); return [e.code, e.message];
