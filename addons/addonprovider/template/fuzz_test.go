package template

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/addons/addonprovider/values"
)

// FuzzRender renders anything: whatever an author writes, the answer is text
// within bounds or an error, before long.
func FuzzRender(f *testing.F) {
	for _, source := range []string{
		"plain", "{{ cluster.spec.port }}", "{% for k, v in secret.data.items() %}{{ k }}={{ v | b64decode }}{% endfor %}", "{% if a is defined and not b %}x{% elif 1 < 2 %}y{% else %}z{% endif %}",
		"{%- set x = [1, 2, {'a': 'b'}] -%}{{ x | tojson }}", "{% raw %}{{ x }}{% endraw %}", "{# note #}", "{{ ('a' * 99999999) * 99999999 }}", "{{ range(0, 9999999999999) | list }}",
		"{{ 'x'.__class__.__mro__ }}", "{{ cluster.__init__ }}", "{% include '/etc/passwd' %}", "{{ 2 ** 999999999 }}", "{{ -9223372036854775808 // -1 }}", "{{ 1 % 0 }}",
		"{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}", "{{ '%s' | format(cluster) }}", "{{ cluster | toyaml | fromyaml }}", "{{ \"&a [*a]\" | fromyaml }}",
		"{{ 'ab' | replace('', 'abcdefgh') | replace('', 'abcdefgh') }}", "{{ [[[[[[]]]]]] | string | length }}", "{{ 'x'[::-1] }}", "{{ x.y.z | default('d') }}", "{% set x %}{% set x %}{% endset %}{% endset %}",
		"{{ 'é'.upper().center(99999999999) }}", "{{ ((((((((((1)))))))))) }}",
	} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		before := used(t)
		text, _ := Render(t.Context(), source, map[string]any{
			"cluster": values.Of(map[string]any{"spec": map[string]any{"port": int64(6443), "list": []any{"a", 1.5, nil, true}}}),
			"secret":  values.Of(map[string]any{"data": map[string]any{"k": "dmFsdWU="}}),
		})
		if took := used(t) - before; took > 10*time.Second {
			t.Errorf("took %s of a processor", took)
		}
		if len(text) > maxSize {
			t.Errorf("%d bytes", len(text))
		}
	})
}

// used is the processor's time of this thread, which other work on the machine
// does not change.
func used(t *testing.T) time.Duration {
	t.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
