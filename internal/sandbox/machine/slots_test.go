package machine

import "testing"

func TestSlots(t *testing.T) {
	t.Parallel()
	s := Slots{"root"}
	for _, step := range []struct {
		take bool
		id   string
		want int
	}{{false, "a", 1}, {false, "b", 2}, {false, "a", 1}, {true, "a", 0}, {false, "c", 1}, {false, "d", 3}} {
		if step.take {
			s.Free(step.id)
			continue
		}
		if got, err := s.Take(step.id); got != step.want || err != nil {
			t.Errorf("slot of %s: %d, %v; want %d", step.id, got, err, step.want)
		}
	}
	for len(s) < maxSlots {
		s = append(s, "x")
	}
	if _, err := s.Take("one too many"); err == nil {
		t.Error("there is a 27th device name")
	}
}
