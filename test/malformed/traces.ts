// Malformed traces, at least five for each reader.

import type { Malformed } from './case.js';

const traces = (group: string, list: [name: string, files: Record<string, string | Buffer>][]): Malformed[] =>
  list.map(([name, files]) => ({
    group: `trace ${group}`,
    name,
    files,
    args: ['trace', 'import', '@', '-o', '@out'],
  }));

const AZURE = 'HashOwner,HashApp,HashFunction,Trigger,1,2';
const DURATIONS =
  'HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum,percentile_Average_0,percentile_Average_1,' +
  'percentile_Average_25,percentile_Average_50,percentile_Average_75,percentile_Average_99,percentile_Average_100';
const ROW = `${AZURE}\no,a,f,http,1,2\n`;
const A21 = 'app,func,end_timestamp,duration';
const ILUVATAR = 'func_name,invoke_time_ms';
const OPENDC =
  'Timestamp [ms],Invocations, Avg Exec time per Invocation,Provisioned CPU [Mhz],Provisioned Memory [mb],' +
  ' Avg cpu usage per Invocation [Mhz], Avg mem usage per Invocation [mb],name';
const H25 = 'time_worker,requestID,funcName,podID,userID,runtimeCost';
const ALI21 = ',traceid,timestamp,rpcid,um,rpctype,dm,interface,rt';
const ALI22 = 'timestamp,traceid,service,rpc_id,rpctype,um,uminstanceid,interface,dm,dminstanceid,rt';

export const TRACES: Malformed[] = [
  ...traces('CSV', [
    ['empty folder', {}],
    ['empty file', { 't.csv': '' }],
    ['blank lines only', { 't.csv': '\n\n\n' }],
    ['binary', { 't.csv': Buffer.from([0, 1, 2, 3, 255, 254, 10, 0, 0]) }],
    ['gzip', { 't.csv': Buffer.from([0x1f, 0x8b, 8, 0, 0]) }],
    ['ZIP', { 't.csv': Buffer.from('PK\u0003\u0004rest') }],
    ['UTF-16', { 't.csv': Buffer.from(`\ufeff${ROW}`, 'utf16le') }],
    ['open quote', { 't.csv': `${AZURE}\no,"a,f,http,1,2\n` }],
    ['text behind a quote', { 't.csv': `${AZURE}\no,"a"b,f,http,1,2\n` }],
    ['unknown header', { 't.csv': 'a,b,c\n1,2,3\n' }],
    ['header only', { 't.csv': `${AZURE}\n` }],
    ['two days', { 'a.csv': ROW, 'b.csv': ROW }],
    ['two formats', { 'a.csv': ROW, 'b.csv': `${A21}\np,f,1,1\n` }],
  ]),
  ...traces('Azure 2019', [
    ['word for a count', { 't.csv': `${AZURE}\no,a,f,http,many,2\n` }],
    ['negative count', { 't.csv': `${AZURE}\no,a,f,http,-1,2\n` }],
    ['fraction of a call', { 't.csv': `${AZURE}\no,a,f,http,1.5,2\n` }],
    ['count beyond 32 bits', { 't.csv': `${AZURE}\no,a,f,http,4294967296,2\n` }],
    ['sum beyond 32 bits', { 't.csv': `${AZURE}\no,a,f,http,4294967295,2\no,a,f,queue,4294967295,2\n` }],
    ['infinity', { 't.csv': `${AZURE}\no,a,f,http,Infinity,2\n` }],
    ['short row', { 't.csv': `${AZURE}\no,a,f,http,1\n` }],
    ['long row', { 't.csv': `${AZURE}\no,a,f,http,1,2,3\n` }],
    ['empty key', { 't.csv': `${AZURE}\no,,f,http,1,2\n` }],
    ['misspelt key', { 't.csv': 'HashOwner,HashAp,HashFunction,1\no,a,f,1\n' }],
    ['column twice', { 't.csv': 'HashOwner,HashApp,HashApp,HashFunction,1\no,a,a,f,1\n' }],
    ['minute twice', { 't.csv': 'HashOwner,HashApp,HashFunction,1,minute_1\no,a,f,1,1\n' }],
    ['minute missing', { 't.csv': 'HashOwner,HashApp,HashFunction,1,3\no,a,f,1,1\n' }],
    ['durations alone', { 't.csv': `${DURATIONS}\no,a,f,1,1,1,1,1,1,1,1,1,1,1\n` }],
    ['word for a duration', { 'i.csv': ROW, 'd.csv': `${DURATIONS}\no,a,f,slow,1,1,1,1,1,1,1,1,1,1\n` }],
    ['fraction of executions', { 'i.csv': ROW, 'd.csv': `${DURATIONS}\no,a,f,1,1.5,1,1,1,1,1,1,1,1,1\n` }],
    [
      'duration column missing',
      { 'i.csv': ROW, 'd.csv': 'HashOwner,HashApp,HashFunction,Average\no,a,f,1\n' },
    ],
    [
      'word for memory',
      { 'i.csv': ROW, 'm.csv': 'HashOwner,HashApp,SampleCount,AverageAllocatedMb\no,a,1,big\n' },
    ],
  ]),
  ...traces('Azure 2021', [
    ['word for a time', { 't.csv': `${A21}\np,f,noon,1\n` }],
    ['no time', { 't.csv': `${A21}\np,f,,1\n` }],
    ['word for a duration', { 't.csv': `${A21}\np,f,1,long\n` }],
    ['empty app', { 't.csv': `${A21}\n,f,1,1\n` }],
    ['misspelt column', { 't.csv': 'app,func,end_timestmp,duration\np,f,1,1\n' }],
    ['short row', { 't.csv': `${A21}\np,f,1\n` }],
    ['header only', { 't.csv': `${A21}\n` }],
    ['time beyond all clocks', { 't.csv': `${A21}\np,f,1e300,1\n` }],
    ['years between two calls', { 't.csv': `${A21}\np,f,1,1\np,f,9e9,1\n` }],
  ]),
  ...traces('Ilúvatar', [
    ['word for a time', { 't.csv': `${ILUVATAR}\nf,soon\n` }],
    ['negative time', { 't.csv': `${ILUVATAR}\nf,-1\n` }],
    ['empty name', { 't.csv': `${ILUVATAR}\n,1\n` }],
    ['long row', { 't.csv': `${ILUVATAR}\nf,1,2\n` }],
    ['metadata alone', { 'm.csv': 'func_name,cold_dur_ms,warm_dur_ms,mem_mb,mean_iat\nf,1,1,1,1\n' }],
    ['negative warm duration', { 't.csv': `${ILUVATAR}\nf,1\n`, 'm.csv': 'func_name,warm_dur_ms\nf,-1\n' }],
    ['warm duration missing', { 't.csv': `${ILUVATAR}\nf,1\n`, 'm.csv': 'func_name,warm_dur_ms\nf,\n' }],
    ['two traces', { 'a.csv': `${ILUVATAR}\nf,1\n`, 'b.csv': `${ILUVATAR}\nf,1\n` }],
  ]),
  ...traces('OpenDC', [
    ['time off the minute', { 't.csv': `${OPENDC}\n1000,1,1,1,1,1,1,f\n` }],
    ['time zero', { 't.csv': `${OPENDC}\n0,1,1,1,1,1,1,f\n` }],
    ['fraction of a call', { 't.csv': `${OPENDC}\n60000,1.5,1,1,1,1,1,f\n` }],
    ['negative duration', { 't.csv': `${OPENDC}\n60000,1,-1,1,1,1,1,f\n` }],
    ['no name', { 't.csv': `${OPENDC}\n60000,1,1,1,1,1,1,\n` }],
    ['no name column', { 't.csv': 'Timestamp [ms],Invocations\n60000,1\n' }],
    ['centuries', { 't.csv': `${OPENDC}\n6e15,1,1,1,1,1,1,f\n` }],
  ]),
  ...traces('Huawei 2023', [
    ['unknown metric', { 'x.csv': 'day,time,0\n0,0,1\n' }],
    ['delays alone', { 'function_delay_minute.csv': 'day,time,0\n0,0,1\n' }],
    ['fraction of a day', { 'requests_minute.csv': 'day,time,0\n0.5,0,1\n' }],
    ['time off the minute', { 'requests_minute.csv': 'day,time,0\n0,30,1\n' }],
    ['word for a count', { 'requests_minute.csv': 'day,time,0\n0,0,x\n' }],
    ['function twice', { 'requests_minute.csv': 'day,time,0,0\n0,0,1,1\n' }],
    ['short row', { 'requests_minute.csv': 'day,time,0,1\n0,0,1\n' }],
    ['all empty', { 'requests_minute.csv': 'day,time,0\n0,0,\n' }],
  ]),
  ...traces('Huawei 2025', [
    ['word for a time', { 't.csv': `${H25}\nx,r,1,p-1,1,1\n` }],
    ['empty request', { 't.csv': `${H25}\n1,,1,p-1,1,1\n` }],
    ['word for a cost', { 't.csv': `${H25}\n1,r,1,p-1,1,cheap\n` }],
    ['misspelt column', { 't.csv': `${H25.replace('funcName', 'funcname')}\n1,r,1,p-1,1,1\n` }],
    ['cold starts alone', { 't.csv': 'day,time,funcName,totalCost_cold_start\n0,1,1,1\n' }],
    ['long row', { 't.csv': `${H25}\n1,r,1,p-1,1,1,1\n` }],
  ]),
  ...traces('Alibaba', [
    ['2021, word for rt', { 't.csv': `${ALI21}\n0,t,1,0,,http,A,i,fast\n` }],
    ['2021, empty rpcid', { 't.csv': `${ALI21}\n0,t,1,,,http,A,i,1\n` }],
    ['2021, odd rpcid', { 't.csv': `${ALI21}\n0,t,1,0..1,,http,A,i,1\n` }],
    ['2021, no callee at all', { 't.csv': `${ALI21}\n0,t,1,0,,http,NAN,i,1\n` }],
    ['2021, short row', { 't.csv': `${ALI21}\n0,t,1,0\n` }],
    ['2022, word for a time', { 't.csv': `${ALI22}\nx,T,S,0.1,rpc,M,P,i,N,Q,1\n` }],
    ['2022, empty trace', { 't.csv': `${ALI22}\n1,,S,0.1,rpc,M,P,i,N,Q,1\n` }],
    ['2022, rt beyond reason', { 't.csv': `${ALI22}\n1,T,S,0.1,rpc,M,P,i,N,Q,1e99\n` }],
    ['2022, rt missing', { 't.csv': `${ALI22}\n1,T,S,0.1,rpc,M,P,i,N,Q,\n` }],
    ['2022, misspelt column', { 't.csv': `${ALI22.replace(',dm,', ',dn,')}\n1,T,S,0.1,rpc,M,P,i,N,Q,1\n` }],
  ]),
];
