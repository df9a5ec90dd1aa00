"""Templates in the manner of well-known models: what they do with roles, reasoning and tools."""

TEMPLATES = {
    "turns": """\
{%- set first = messages[0] if messages and messages[0].role == 'system' else none %}
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if first is not none %}{{ first.content ~ '\\n\\n' }}{% endif %}
    {{- "# Tools\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" ~ (tool | tojson) }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- elif first is not none %}
    {{- '<|im_start|>system\\n' + first.content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(last_query=-1) %}
{%- for m in messages[::-1] %}
    {%- set at = messages | length - 1 - loop.index0 %}
    {%- if ns.last_query < 0 and m.role == 'user' %}{% set ns.last_query = at %}{% endif %}
{%- endfor %}
{%- for m in messages %}
    {%- if m.role == 'assistant' %}
        {%- set content = m.content if m.content is string else '' %}
        {%- set thought = '' %}
        {%- if m.reasoning_content is defined and m.reasoning_content is not none %}
            {%- set thought = m.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|im_start|>' + m.role + '\\n' }}
        {%- if loop.index0 > ns.last_query and thought %}
            {{- '<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' }}
        {%- endif %}
        {{- content }}
        {%- for call in m.tool_calls or [] %}
            {%- set call = call.function if call.function else call %}
            {{- '\\n<tool_call>\\n{"name": "' ~ call.name ~ '", "arguments": ' }}
            {{- call.arguments if call.arguments is string else call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif m.role == 'tool' %}
        {%- if loop.first or loop.previtem.role != 'tool' %}{{ '<|im_start|>user' }}{% endif %}
        {{- '\\n<tool_response>\\n' ~ m.content ~ '\\n</tool_response>' }}
        {%- if loop.last or loop.nextitem.role != 'tool' %}{{ '<|im_end|>\\n' }}{% endif %}
    {%- elif m.role != 'system' %}
        {{- '<|im_start|>' ~ m.role ~ '\\n' ~ m.content ~ '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
""",
    "headers": """\
{{- bos_token }}
{%- if not date_string is defined %}{% set date_string = strftime_now("%d %b %Y") %}{% endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\nToday Date: " + date_string + "\\n\\n" }}
{%- if tools is not none %}
    {%- for t in tools %}{{ t | tojson(indent=4) }}{{ "\\n\\n" }}{% endfor %}
{%- endif %}
{{- system_message + "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}
        {%- if message.content is string %}{{ message.content | trim }}
        {%- else %}
            {%- for part in message.content | selectattr('type', 'equalto', 'text') %}{{ part.text }}{% endfor %}
        {%- endif %}
        {{- '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls | length == 1 %}
            {{- raise_exception("one call at a time") }}
        {%- endif %}
        {%- set call = message.tool_calls[0].function %}
        {%- for name, value in call.arguments | items %}
            {{- name ~ '="' ~ value ~ '"' }}{{ ", " if not loop.last }}
        {%- endfor %}
    {%- else %}
        {{- message.content | tojson if message.content is mapping or message.content is iterable else message.content }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}
""",
    "brackets": """\
{%- if messages[0]["role"] == "system" %}
    {%- set system = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set users = loop_messages | selectattr("role", "equalto", "user") | list %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and message == users[-1] %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.function.items() if key != "return" %}
                    {%- if val is string %}{{ '"' + key + '": "' + val + '"' }}
                    {%- else %}{{ '"' + key + '": ' + val | tojson }}{% endif %}
                    {%- if not loop.last %}{{ ", " }}{% endif %}
                {%- endfor %}
                {{- "}}" }}{{ "]" if loop.last else ", " }}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {{- "[INST] " + (system + "\\n\\n" if loop.last and system is defined else "") + message["content"] + "[/INST]" }}
    {%- elif message["role"] == "assistant" and message.content %}
        {% generation %}{{- " " + message["content"] | trim + eos_token }}{% endgeneration %}
    {%- endif %}
{%- endfor %}
""",
    "typed": """\
{%- macro kind(spec, level=0) -%}
    {%- if spec.type == "object" and spec.properties -%}
{
        {%- for name, value in spec.properties | dictsort %}
{{ "  " * (level + 1) }}{{ name }}{{ "?" if name not in spec.get("required", []) }}: {{ kind(value, level + 1) }},
        {%- endfor %}
}
    {%- elif spec.type is iterable and spec.type is not string -%}
        {{ spec.type | join(" | ") }}
    {%- elif spec.enum is defined -%}
        {{ spec.enum | map("tojson") | join(" | ") }}
    {%- else -%}
        {{ spec.type | default("any") }}
    {%- endif -%}
{%- endmacro -%}
{% macro turn(role) %}<|start|>{{ role }}<|message|>{{ caller() }}<|end|>{% endmacro %}
{% set head %}
Knowledge: {{ strftime_now("%Y-%m") }}
{% for tool in tools or [] %}
type {{ tool.function.name }} = {{ kind(tool.function.parameters) }};
{% endfor %}
{% endset %}
{% call turn("system") %}{{ head | trim | indent(2) }}{% endcall %}
{% for m in messages %}
  {%- if m.role == "system" %}{% continue %}{% endif %}
  {%- if loop.index0 > 20 %}{% break %}{% endif %}
  {%- call turn(m.role | upper) %}{% filter replace("<|", "< |") %}{{ m.content }}{% endfilter %}{% endcall %}
{%- else %}
nothing
{%- endfor %}
""",
}  # fmt: skip
