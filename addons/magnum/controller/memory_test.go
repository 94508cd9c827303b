package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestTheMemory keeps the first time of each, by cluster, until it is no more.
func TestTheMemory(t *testing.T) {
	t.Parallel()
	m := &memory{}
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	at := func(minutes int) time.Time { return time.Date(2026, 1, 2, 8, minutes, 0, 0, time.UTC) }
	m.met(a, aTrouble, at(0))
	m.met(a, "quota cores", at(1))
	m.met(b, aTrouble, at(2))
	if m.met(a, aTrouble, at(9)) != at(0) || m.met(a, "quota cores", at(9)) != at(1) || m.met(b, aTrouble, at(9)) != at(2) {
		t.Errorf("%v", m.known)
	}
	m.keep(a, func(what string) bool { return what == aTrouble })
	if m.met(a, aTrouble, at(9)) != at(0) || m.met(a, "quota cores", at(9)) != at(9) {
		t.Errorf("after one ended: %v", m.known)
	}
	m.forget(a)
	m.keep(b, func(string) bool { return false })
	if len(m.known) != 0 {
		t.Errorf("something is left: %v", m.known)
	}
}
