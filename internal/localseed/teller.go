package localseed

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kind/pkg/log"
)

// teller is kind's logger that tells what is done, and leaves out the rest.
type teller func(string)

func (t teller) say(text string) {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r > 0x2000 || r == '•' {
			return -1 // kind's pictures
		}
		return r
	}, text))
	if t != nil && text != "" {
		t("kind: " + text)
	}
}

// Warn implements kind's logger; warnings are about settings that preflight judges.
func (teller) Warn(string) {}

// Warnf implements kind's logger.
func (teller) Warnf(string, ...any) {}

// Error implements kind's logger; errors are returned too.
func (teller) Error(string) {}

// Errorf implements kind's logger.
func (teller) Errorf(string, ...any) {}

// V implements kind's logger.
func (t teller) V(level log.Level) log.InfoLogger {
	if level > 0 {
		return teller(nil)
	}
	return t
}

// Info implements kind's logger.
func (t teller) Info(message string) { t.say(message) }

// Infof implements kind's logger.
func (t teller) Infof(format string, args ...any) { t.say(fmt.Sprintf(format, args...)) }

// Enabled implements kind's logger.
func (t teller) Enabled() bool { return t != nil }
