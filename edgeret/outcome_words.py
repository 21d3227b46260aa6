"""How results of failed calls read, in the words of frameworks, SDKs, servers and shells. Patterns and nothing else.

Whatever repeats has a bound, so that no text takes long.
"""

from __future__ import annotations

import re

WRAPPED = re.compile(
    r"[\s*_`'\"#>(\[<❌⛔🚫⚠️✗✖✘×💥🔴❗‼️=│╷╵┃|]{0,80}"
    r"(?:\[?[\w .'\"/:-]{0,120}\]? ?(?<!\w)(?:result|output|observation|response)s?(?:\s?:|\s*\n)"
    r"[\s*_`'\"#>(\[<❌⚠️]{0,16})?",
    re.I,
)
"""Quotes, brackets, marks and headings around a result's own words."""

SUCCESS = re.compile(r"[✅✓✔☑]|success(?:ful|fully)?\b|done\b|ok\b|no (?:errors?|problems?|issues?|failures?)\b", re.I)

LABELLED = re.compile(
    r"[^:=(\n.]{1,60}(?<!\berror)(?<!\bfailed)(?<!\bfailure)(?<!\bcode)(?<!\bstatus)(?<!\bexception)"
    r"(?:\s?:\s+|(?<=errors):|\s?=\s*)"
    r"(?:\d[\d.,]*\s?%?(?=$|[\s,;.)|])(?! ?-)|(?:none|no|nil|nothing|never|null|n/a|-|zero)(?=\s*(?:$|[,;.)|\n])))",
    re.I,
)
"""A label with a count or with "none": something was asked for and found."""

UNSURE = re.compile(
    r"(?:errors|failures|failed|exceptions)\s?[:=]\s*(?!0\b|no)\w|errors?\s?[:=]\s*(?:\(?none\)?|0|null)\W{0,3}$|"
    r"[1-9]\d{0,5} (?:\w{1,20} )?(?:errors?|failed|failures?|problems? \()\b|cancel+ed\b|can(?:no|')t\b",
    re.I,
)
"""Counts of errors that a check may have found as it should, and words that are done as asked as often as not."""

CAPITALS = re.compile(
    r"(?:ERROR|FATAL|FAILED|FAILURE|ERR!?)\b(?!\s?[:=]\s*(?:0|none)\b)[^\n]"
    r"|(?:[\w$]{1,60}(?:[.:/]|::)){0,8}[A-Z_]\w{0,60}?(?:Error|Exception|Failure|Fault|Interrupt|Timeout|Refused)"
    r"(?:\s?[:(\])]|\s*$|\s*\n| - | \[| of RPC)"
    r"|(?:AbortError|SystemExit|StopIteration|CancelledError)\b"
)
"""What is told by its capitals: levels, and the names of exceptions."""

_NUMBERED = (
    r"(?:http(?:s|/\d(?:\.\d)?)?[\s:]{0,2})?(?:(?:error|status|status code|code|response|failed)[\s:]{1,2}){0,2}"
)
_REASON = (
    r"(?:bad request|unauthori[sz]ed|payment required|forbidden|not found|method not allowed|not acceptable|conflict|"
    r"request timeout|gone|payload too large|(?:request|content) (?:entity )?too large|unsupported media type|"
    r"unprocessable (?:entity|content)|locked|too many requests|internal server error|not implemented|bad gateway|"
    r"service (?:temporarily )?unavailable|gateway time-?out)"
)
_ERRNO = (
    r"E(?:NOENT|ACCES|PERM|EXIST|ISDIR|NOTDIR|CONN(?:REFUSED|RESET|ABORTED)|TIMEDOUT|NOTFOUND|HOSTUNREACH|NETUNREACH|"
    r"AI_AGAIN|NOSPC|BUSY|PIPE|MFILE|INVAL|NOTEMPTY|RESOLVE|INTEGRITY)"
)
_DOING = (
    r"(?!handling|logging|reporting|tracking|checking|correcting|monitoring|budgeting|recovering|tracing|finding|"
    r"learning)[a-z]{2,20}ing\b"
)
_TOOL = r"(?:tool|function|action|command|method|plugin|skill|agent|server|operation|endpoint|model)"
_NOT = (
    r"(?:not found|was not found|is not found|could not be found|couldn't be found|does not exist|doesn't exist|"
    r"don't exist|"
    r"do not exist|is not (?:an? )?(?:available|defined|registered|valid|allowed|recogni[sz]ed|supported|known|"
    r"enabled|"
    r"part of|found|installed|permitted|authori[sz]ed|callable|present)|is (?:unknown|unavailable|disabled|invalid|"
    r"rejected)|(?:has |have )?failed|timed out|not executed|errored|was (?:called with invalid|rejected|denied|"
    r"blocked|"
    r"cancel+ed|aborted|interrupted|not executed)|(?:is )?missing required|has reached its usage limit|"
    r"raised an? |threw an? |returned an? (?:error|exception)|reported (?:an? )?(?:tool )?error|could not be|"
    r"cannot be|requires approval|requires confirmation|execution (?:failed|aborted|error|was|timed|denied))"
)

SURE = re.compile(
    "|".join((
        # Tags and envelopes.
        r"(?:tool_use_error|tool_error|error|exception|fault|errorresponse|\w{1,10}:fault)(?:\s[^>\n]{0,200})?>",
        r"\?xml[\s\S]{0,300}?:fault\b|(?:soap[\w-]{0,9}|s|env):envelope[\s\S]{0,300}?:fault\b",
        r"\?xml[^>]{0,120}>\s{0,4}<(?:\w{1,20}:)?(?:error|errorresponse|fault|exception)\b",
        r"(?:!doctype html[^>]{0,160}>\s{0,20})?<?(?:html|head)[\s\S]{0,300}?<title>\s{0,4}(?:error\b|[45]\d\d\b)",
        r"(?:status|state|result)>(?:error|failed|failure)<",
        r"(?:result|tool_result|function_result|response) (?:[^>\n]{0,100} )?(?:status|is_error)=['\"](?:error|"
        r"true|failed)",
        r"mcp error\b|(?:json-?rpc|rpc) error\b|-32[0-9]{3}\b|api error[: (]",
        # The word itself, where it is no noun of something else.
        r"errors?\**\s?[:：!>\])|=]\**(?!\s*(?:\(?none\)?|0|null)\W{0,3}$)",
        r"errors?\**\s+[-–—]\s|error\s*$|error\s*\n|err\s?[:!]|npm (?:err!|error)|error\[\w{1,10}\]|error TS\d",
        r"errors? in [^\n]{1,80} :|errors? (?:\d{3}\b|0x|no\.? \d|number \d|while|when\b|during|occurr?ed|"
        r"happened|encountered|returned|"
        r"invoking)",
        rf"errors? (?:(?:in|at|on|from|with) (?:the )?(?:tool|function|line|{_TOOL})\b|code\s?[:=]|message\s?[:=]|"
        rf"response from|type\s?[:=]|{_DOING})",
        r"[\w./@+-]{1,120}[:(]\d{1,7}(?:[:,]\d{1,5})?\)?: (?:fatal )?error\b",
        r"command ['\"\[][^\n]{0,300} (?:returned non-zero|timed out|failed|died|exited)",
        r"e: |make(?:\[\d+\])?: \*\*\*|\[?(?:fatal|panic(?:ked)?|critical)\b\s?(?:error\b|[:!\]])|uncaught\b|"
        r"unhandled\b|traceback(?: \(most|:|\s*$|\s*\n)|exception in thread",
        r"thread '[^'\n]{0,60}' panicked|exception\s?(?:[:!]|while\b|occurred|when\b|thrown|raised)|"
        r"segmentation fault|"
        r"bus error|core dumped|killed\s*$|out of memory|stack overflow\s*$|assertion failed",
        # Failing.
        r"(?:failed|failure)\**\s?(?:[:：!\])]|\.?\s*$|\.?\s*\n)(?!\s*(?:0|none)\b)",
        rf"failed (?:to\b|with\b|because|due to|while|after|during|validation|at\b|in sandbox|{_DOING})",
        r"failure (?:while|when|during|of type)",
        r"(?!\d|no |none |all |zero )(?:[\w'`().-]{1,60} ){1,6}failed(?:\s?[:!]|\.?\s*$|\.?\n| with\b| because|"
        r" due to| at line"
        r"| after \d| as the| validation)",
        # Sentences of frameworks.
        r"(?:sorry,? |oops[,!. ]{0,3}|i'?m sorry,? )?(?:but )?an? (?:[a-z-]{1,20} ){0,3}(?:error|exception|"
        r"problem|failure)"
        r" (?:has |have )?(?:occurr?ed|happened|was (?:encountered|raised|thrown)|while|when|during)",
        r"(?:(?:i|we|it|you|the [\w-]{1,30}|tool [\w'-]{1,60}) )?(?:have |has )?(?:encountered|hit|ran into|got|"
        r"received) "
        r"an? (?:[a-z-]{1,20} ){0,2}(?:error|exception|problem|issue)",
        r"encountered (?:error|exception)|there (?:was|were|has been) (?:an?|some) (?:[a-z-]{1,20} ){0,2}(?:error|"
        r"problem|issue)",
        r"(?:something|oops)[\s\S]{0,20}went wrong|(?:an )?(?:internal|unexpected|unknown|unspecified) (?:server |"
        r"tool )?"
        r"(?:error|exception|failure)",
        r"(?:(?:input|output|argument|parameter|schema|type|tool|json) ){0,4}?validation (?:error|failed)|"
        r"\d{1,4} validation errors?",
        rf"(?:the |this |your |that )?(?:requested )?{_TOOL} (?:call |execution |use |name |named? |with name |run )?"
        rf"[^\n]{{0,120}}?{_NOT}",
        rf"['\"`]?[\w./:-]{{1,80}}['\"`]? (?:is not|isn't) (?:an? )?(?:valid|known|registered|available|"
        rf"recogni[sz]ed) "
        rf"(?:\w{{1,20}} )?{_TOOL}",
        rf"(?:unknown|no such|invalid|unsupported|unrecogni[sz]ed|undefined|unavailable) {_TOOL}\b|"
        rf"no {_TOOL} (?:named|called|"
        r"with|found|matching)|unsupported call|there (?:is|are) (?:no|not an?) (?:tool|function|command)|"
        r"could not find (?:a )?(?:tool|function)",
        r"model tried to call|received tool input did not match|i tried reusing the same input|moving on then\b|"
        r"tool input|execution error|tool call error|please (?:fix|correct) (?:your|the)|failed in sandbox|"
        r"command (?:exited|failed|timed out|rejected|aborted)|code execution failed|apply_patch verification failed",
        r"invalid (?:input|arguments?|parameters?|json|requests?|params?|api[ _-]?key|token|credentials?|syntax|"
        r"value|url|"
        r"path|option|format|date|id|query|response|type|schema|operation|username|password|state|name|use|number)\b"
        r"(?!\w|s? (?:removed|skipped|ignored))",
        r"(?:is )?missing (?:(?:a |the )?(?:required|mandatory|value for|one or more) ?){0,4}?(?:required |"
        r"mandatory )?(?:parameters?|"
        r"arguments?|fields?|property|properties|values?|input|keys?|headers?|api key|credentials|"
        r"authori[sz]ation|params?)\b",
        r"(?:required|mandatory) (?:parameters?|arguments?|fields?|property|input)\b[^\n]{0,80}(?:missing|not|"
        r"absent)",
        # Permission, and people who said no.
        r"permission to use [^\n]{0,160} (?:has been|was|is) denied|claude requested permission|"
        r"the user (?:doesn't|does not) want",
        r"(?:access|permission|authori[sz]ation|request|authentication|login)\w{0,3} (?:(?:is|was|has been|"
        r"to [^\n]{0,80}) )?"
        r"(?:denied|refused|forbidden|not permitted|failed|required\W{0,3}$|blocked)",
        r"(?:the )?user (?:has |have )?(?:rejected|denied|declined|refused|chose to skip|chose not|aborted|"
        r"interrupted|did not "
        r"(?:allow|approve|confirm)|didn't (?:allow|approve)|has not granted|skipped|said no|cancel+ed (?:the|this))",
        r"(?:the )?(?:exec |tool |function |shell )?(?:request|tool|tool use|tool call|operation|command|"
        r"execution|call|process|"
        r"action|edit|change) (?:was |has been |is |got )?(?:interrupted|aborted|rejected|denied|declined|"
        r"not approved|"
        r"cancel+ed by|blocked)",
        r"(?:cancel+ed|aborted|interrupted|rejected|denied|declined|blocked)(?: by (?:the )?(?:user|operator|"
        r"policy|hook|human)|: )",
        r"(?:aborted|denied|rejected|declined|interrupted)\W{0,3}$|(?:this|the) (?:command|tool call|action|"
        r"operation|call) requires",
        r"not (?:authori[sz]ed|allowed|permitted|authenticated|logged in|signed in|implemented|supported|connected)\b"
        r"(?=\s*$|[.:!,]| to\b| for\b| in\b| by\b)|(?:unauthori[sz]ed|forbidden|access denied)\s*(?:$|[:.!(])",
        # Time, networks, HTTP.
        r"(?:the )?(?:[a-z-]{1,20} ){0,4}timed[ -]?out(?:\s*$|[.:!(]| after| while| waiting| trying| during| \()",
        r"time[ -]?out\s?(?:[:!.]|$|after|while|exceeded|error|waiting|reached|of \d|\d)|"
        r"(?:context )?deadline exceeded",
        r"(?:the )?(?:connection|network|host|server|socket|proxy|ssl|tls|dns)(?: (?:was|is|"
        r"has been))?(?: to [^\n]{0,100})? "
        r"(?:refused|reset|closed|aborted|unreachable|error\b|failed|lost|timeout|disconnected|not responding)",
        r"connect(?:ion)? E[A-Z]{4,15}|(?:read|write|connect|getaddrinfo|spawn|open|listen|"
        r"request to \S{1,200} failed)[, ]\s?"
        r"(?:(?:reason: )?[a-z]{0,20} ?)E[A-Z_]{4,15}\b|"
        rf"{_ERRNO}\b|fetch failed|socket hang up|max retries exceeded|"
        r"curl: \(\d|(?:net|dns)::?err_|err_[a-z]{3}",
        r"(?:http|error|status|status code|"
        r"code)[\s:/]{1,2}(?:[\w.]{1,12}[\s:]{1,2}){0,2}[45]\d\d\b(?! (?:items|ms|km|kg|m)\b)",
        rf"{_NUMBERED}[45]\d\d\s?[-–:]?\s?{_REASON}(?=\s*$|\s*[.:;,(!\n-])|{_REASON}(?=\s*$|\s*[:!(\n]|\.\s*$)",
        r"(?:client|server) error\b|(?:the )?(?:rate|usage|token|context|request|monthly|"
        r"daily) (?:length )?(?:limit|quota)s? "
        r"(?:has been |was |is )?(?:exceeded|reached|hit)|quota exceeded|too many (?:requests|tokens|attempts)",
        r"(?:internal )?(?:database|db|sql|sqlite|postgres(?:ql)?|mysql|json|xml|yaml|parse|parsing|parser|syntax|"
        r"runtime|type|i/o|io|"
        r"system|application|compile|compilation|build|tool|function|plugin|execution|validation|api|script|shell|"
        r"action|query|"
        r"import|configuration|config|authentication|auth|storage|file|upload|download|request|service|backend|"
        r"worker) "
        r"(?:error|exception)\b(?!s|\s?[:=]\s*(?:\d|none)|[ -](?:codes?|rates?|handling|logs?|messages?|budgets?))",
        r"-bash: |(?:ba|z|da|k)?sh: (?:line )?\d{0,6}:? ?[^\n]{1,200}(?:not found|denied|no such)|"
        r"'[^'\n]{1,100}' is not recogni[sz]ed",
        r"[^\n]{1,100} : the term '|the (?:system|process) cannot|git: '|fatal: |error response from daemon|"
        r"error from server",
        # Fixed sentences in other languages.
        r"fehler\s?(?:[:!]|beim\b|bei der|aufgetreten|\d)|es ist ein (?:\w{1,20} )?fehler|"
        r"ein (?:\w{1,20} )?fehler ist aufgetreten|"
        r"zugriff verweigert|zeitüberschreitung|ungültige[rs]? |nicht (?:gefunden|erlaubt|autorisiert)\W{0,3}$",
        r"erreur\s?[:!]|une erreur (?:est survenue|s'est produite|inattendue)|accès refusé|échec (?:de|du|:)|"
        r"(?:ocurrió|se produjo|ha ocurrido|hubo) un error|error (?:al|de|en la|del) |acceso denegado|no se pud[oe] ",
        r"errore\s?(?:[:!]|durante|nel)|si è verificato un errore|accesso negato|impossibile |erro\s?(?:[:!]|ao\b|"
        r"na\b|no\b)|"
        r"ocorreu um erro|houve um erro|acesso negado|não foi possível|fout\s?[:!]|er is een fout|"
        r"toegang geweigerd|fel\s?:",
        r"błąd\s?[:!]|wystąpił błąd|ошибка\s?[:!]|произошла ошибка|не удалось|доступ запрещ|hata\s?[:!]|"
        r"bir hata oluştu|"
        r"помилка\s?[:!]|chyba\s?[:!]",
        r"(?:错误|錯誤|異常|异常|エラー|오류|에러)\s?(?:[:：!！]|$|コード)|(?:发生|發生|出现)\S{0,4}(?:错误|錯誤)|エラーが|오류가|失敗しました|"
        r"(?:工具|操作|请求|調用|调用|执行|執行|查询|读取|连接)\S{0,8}(?:失败|失敗|错误|超时)|失败[:：]|無法|无法|权限不足|拒绝访问|找不到|未找到",
    )),
    re.IGNORECASE,
)  # fmt: skip
"""How a result begins that is a failure beyond doubt."""

NOTHING = re.compile(
    r"(?:no(?!t| such| [\w-]{0,20}tool| (?:node|element|tool|function|permission|access|route|module|connection|"
    r"internet|"
    r"network|response from|"
    r"handler|"
    r"provider|api key|credentials|server|device|driver|space|valid|matching overload)\b)|nothing|none|zero|0) ",
    re.I,
)
"""A search that found nothing did what it was asked for."""

_ANYWHERE = (
    r"(?:could ?n[o']t|couldn’t|unable to|not able to) (?-i:[a-z])",
    r"(?:can ?not|can['’]t) (?:be|find|open|read|write|access|connect|load|parse|create|call|use|complete|process)\b",
    r"(?:can ?not|can['’]t) (?:execute|resolve|reach|determine|divide|import|locate|perform|delete|modify|convert)\b",
    r"not found(?:[.!:;)\]](?!\w)|\s*$| (?:in|for|on|at|by|with)\b)|(?:does not|doesn't|do not|don't) (?:exist|match|"
    r"support)\b",
    r"(?:do not|don't|does not|doesn't) have (?:access|permission)|no such [a-z]|no response from|(?:did not|"
    r"didn't) respond|please (?:provide|specify|enter|supply|select|give) ",
    r"no (?:[\w-]{0,20}tool|node|element|function|permission|access|route|module|connection|internet|network|"
    r"handler|provider)\b",
    r"no (?:api key|credentials|space left)|no [\w-]{0,20}(?:tool|function|handler)\w{1,20} (?:found|named|for)\b",
    r"(?:is|are) (?:required|mandatory|missing)(?:\W{0,3}$| to )|(?<=['\"`] )is (?:required|missing)",
    r"(?:is|are|was|were) (?:rejected|denied|forbidden|unreachable|invalid|unavailable)\b",
    r"(?:is|are|was|were) not (?:available|supported|allowed|valid|recogni[sz]ed|provided|given|specified|set|"
    r"defined)\b",
    r"(?:is|are) (?:offline|not (?:installed|running|connected|configured|enabled))\b",
    r"(?:is|are|was|were) not (?:authori[sz]ed|permitted|reachable|"
    r"responding)\b",
    r"(?:is|are|was|were) not (?:found|(?:a |an )?(?:valid|known|integer|number|string|directory|file))\b",
    r"must (?:be (?:an?|one|at|greater|less|set|positive|non|provided|between|in|of|unique|valid|longer|shorter)|"
    r"not be|have|"
    r"contain|start|provide)\b",
    r"invalid (?:arguments?|inputs?|parameters?)\b|non-?zero exit|max retries|permission denied|"
    r"access (?:is )?denied",
    r"unauthori[sz]ed\b|timed out\b|connection (?:refused|reset|closed|error|timed out)|refused\b|not allowed\b|"
    r"went wrong\b",
    rf"status(?: code)?\s?[:=]?\s?[45]\d\d\b|https?[ /:]\S{{0,4}}\s?[45]\d\d\b|[45]\d\d {_REASON}",
    r"(?:limit|quota|maximum)[^\n]{0,40} (?:exceeded|reached)|exceed(?:s|ed) (?:the |your )?(?:maximum|limit|"
    r"allowed|quota)",
    r"(?:an?|the) (?:[a-z-]{1,20} )?(?:error|exception) (?:occurr?ed|was)|failed to\b|(?<!\d )failed[:.!]?\s*$|"
    r"try again\b",
    r"unknown (?:[a-z]{1,20} ?){1,3}(?:[:'\"`]|$)|rejected\b[^\n]{0,20}\buser\b|division by zero|divided by 0",
    r"user (?:did not|didn't) (?:allow|approve|confirm)|user (?:rejected|denied|declined|refused)\b|(?:then|"
    r"please) retry\b",
    r"(?:request|call|action|access|command) (?:was |is )?blocked|introduced [^\n]{0,20}syntax error",
    r"insufficient (?:permissions?|funds|scope|privileges|balance|quota|rights)|out of (?:range|memory|bounds)\b",
    r"(?:token|key|session|credentials?|certificate|link) (?:has |have |is )?expired",
    r"nicht gefunden\b|konnte nicht\b|non trovat|no encontrad|introuvable|não encontrad",
)
LIKELY = re.compile(
    r"(?:[\w'.-]{1,40} ){1,4}error\s?(?:[:：!]|\s*$)|(?:can ?not|can['’]t) (?-i:[a-z])|"
    r"(?:unknown|invalid|unsupported|unrecogni[sz]ed|unexpected|illegal|missing|bad|expired) (?-i:[a-z'\"`])",
    re.IGNORECASE,
)
"""How a short text begins that tells of a failure."""
LIKELY_INSIDE = re.compile(
    rf"(?<!\w)(?=[4-5a-z])(?:{'|'.join(_ANYWHERE)})"
    rf"|(?-i:[: (]{_ERRNO}\b|"
    r"(?<!\w)[A-Za-z]{3,40}(?:Error|Exception): \S| \(\w{1,60}(?:Error|Exception)\))",
    re.IGNORECASE,
)
"""What a short text has somewhere that tells of a failure."""

TRACE = re.compile(r"^Traceback \(most recent call last\):|^\s+at [\w.$<>]{1,100} ?\(|^\s+File \"", re.MULTILINE)
"""Lines of a traceback."""
SHELL = re.compile(
    r"^[\w./@+~'\"-]{1,80}: .{0,290}?(?:command not found|not found|No such file or directory|"
    r"Permission denied|Operation not permitted|Is a directory|Not a directory|File exists|No space left on device|"
    r"Read-only file system|Connection refused|Connection timed out|Operation timed out|Name or service not known|"
    r"Temporary failure in name resolution|No route to host|Network is unreachable|Device or resource busy|"
    r"Input/output error|Too many open files|Cannot allocate memory|Directory not empty|Invalid argument|"
    r"Datei oder Verzeichnis nicht gefunden|Kommando nicht gefunden|Befehl nicht gefunden|Keine Berechtigung|"
    r"Aucun fichier ou dossier de ce (?:type|nom)|commande introuvable|Permission non accordée|"
    r"No existe el (?:fichero|archivo) o el directorio|orden no encontrada|Permiso denegado|"
    r"File o directory non esistente|comando non trovato|Arquivo ou diretório inexistente|comando não encontrado|"
    r"Нет такого файла или каталога|команда не найдена|Отказано в доступе|没有那个文件或目录|未找到命令|权限不够|"
    r"そのようなファイルやディレクトリはありません|コマンドが見つかりません|許可がありません)\W{0,3}$"
    r"|^zsh: (?:command not found|no such file or directory|permission denied|no matches found): ",
    re.IGNORECASE,
)
"""A line that a shell's program writes of what the system refused it."""
LAST = re.compile(
    r"make(?:\[\d+\])?: \*\*\*|(?:fatal|error|npm err!|npm error|panic|collect2: error|curl|wget|ssh|scp|git|"
    r"build failed|"
    r"segmentation fault|killed|command failed|compilation failed|execution failed|automatic merge failed)\b"
    r"(?:\s*[:;!(\[]|$)(?! 0\b)",
    re.IGNORECASE,
)
"""How a last line begins where a program gave up."""
RAISED = re.compile(
    r"(?:[\w$]{1,60}[.:]{1,2}){0,8}[A-Za-z_]\w{0,60}(?:Error|Exception|Interrupt|Exit|"
    r"Warning)\b(?:: |$)"
)
"""The last line of a traceback."""
ENTRY = re.compile(
    r"[-*•] |\d{1,3}[.)] |\d{1,7}(?:→|\t|:| \| )|(?:---|\+\+\+|@@|diff --git) |#(?:error|if|include|define|"
    r"pragma)|#{1,6} (?!\W{0,8}(?:error|result|output|exception|fail))|>>> |"
    r"[\w./@-]{1,160}:\d{1,7}[:-](?!\s?\d{0,5}:? ?(?:fatal )?error|in [`'\"]|"
    r"[^\n]{0,200}\(\w{1,60}Error\))",
    re.IGNORECASE,
)
"""Lists and matches of a search: what they name did not happen to the call."""
DONE_TOO = re.compile(
    r"\b(?:success(?:ful|fully)?|done|created|saved|completed|added|updated|removed|deleted|sent|installed|"
    r"anyway)\b|✅",
    re.IGNORECASE,
)
"""What is done all the same, as a text says."""
