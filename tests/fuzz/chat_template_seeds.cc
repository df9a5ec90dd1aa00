// Writes the seed corpus of chat_template_fuzz: `chat_template_seeds FOLDER`.

#include <string>
#include <vector>

#include "seeds.h"

namespace {

std::vector<std::string> seeds() {
  return {
      "{%- for m in messages %}\n  {{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' "
      "}}"
      "\n{%- else %}none{% endfor %}\n{% if add_generation_prompt %}a{% elif x %}b{% else %}c"
      "{% endif %}",
      "{% set ns = namespace(i=0, l=[]) %}{% for m in messages[::-1] if m.role != 'tool' %}"
      "{% set ns.i = ns.i + loop.index0 %}{% set ns.l = ns.l + [m] %}{% if loop.last %}{% break %}"
      "{% endif %}{% endfor %}{{ ns.i }}{{ ns.l }}{{ ns }}",
      "{% macro kind(t, d=none) -%}{{ t|tojson(indent=2) }}{{ d or varargs }}{%- endmacro %}"
      "{{ kind(tools[0].function, *[1]) }}{% macro w() %}<{{ caller(1) }}>{% endmacro %}"
      "{% call(a) w() %}{{ a }}{% endcall %}",
      "{% set x | upper %} {{ bos_token }}{{ messages[1].content }}{% endset %}{% filter trim %}"
      "{{ x ~ x[1:-1] ~ x[::2] }}{% endfilter %}{# c #}{% generation %}g{% endgeneration %}",
      "{{ messages|selectattr('role', 'equalto', 'user')|map(attribute='content')|join(', ') }}"
      "{{ messages[0]|dictsort }}{{ [3, 1.5, true]|sort|list }}{{ ['a', 'A']|unique|list }}",
      "{{ '%s %5.2f' % ('a', 2.5) }}{{ '{:>5}{x!r}'.format(1, x=none) }}{{ 'a b'.split() }}"
      "{{ 'aXb'.replace('X', '-')|title|indent(2) }}{{ ' a '.strip('a ') }}",
      "{{ 1 + 2 * 3 ** 2 // 4 % 5 - -1 / 2 }}{{ not 1 < 2 <= 3 and 'a' in 'ab' or x is defined }}"
      "{{ {'a': (1,), 2: [none]} }}{{ 'y' if x else 'z' }}{{ range(1, 9, 2)|list }}",
      "{{ strftime_now('%d %b %Y %H:%M') }}{{ messages[3].content|from_json }}{{ 7|round(1) }}"
      "{{ '12'|int + '1.5'|float }}{{ tools[0].items()|list }}{{ loop }}{{ dict(a=1).get('b', 2) "
      "}}",
      "{{ raise_exception('no ' ~ messages|length) }}",
  };
}

}  // namespace

int main(int argc, char** argv) { return hearth::testing::write_seeds(argc, argv, seeds()); }
