package restore

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-sh/slipway/internal/fault"
)

// TestAClusterJoinsOnceAndForGood: what it found when it was new, until a rebuild takes a
// generation for it. A newer one in the cloud is never its own.
func TestAClusterJoinsOnceAndForGood(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data        map[string]string
		cloud, want int
		noted, bad  bool
	}{
		"new":                           {nil, 2, 2, true, false},
		"it has joined before":          {map[string]string{"joined": "0"}, 1, 0, false, false},
		"made by a rebuild":             {map[string]string{"generation": "3", "restored": "b"}, 4, 3, false, false},
		"joined, then taken":            {map[string]string{"joined": "2", "generation": "3"}, 3, 3, false, false},
		"a rebuild of what took before": {map[string]string{"joined": "4", "generation": "3"}, 3, 4, false, false},
		"no number":                     {map[string]string{"joined": "x"}, 1, 0, false, true},
	} {
		on := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: recordNamespace, Name: recordName}, Data: test.data})
		ours, err := Join(t.Context(), on, test.cloud)
		if (err != nil) != test.bad || ours != test.want {
			t.Errorf("%s: %d, %v", name, ours, err)
		}
		after, err := on.CoreV1().ConfigMaps(recordNamespace).Get(t.Context(), recordName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if noted := after.Data["joined"] != test.data["joined"]; noted != test.noted {
			t.Errorf("%s: noted %v", name, after.Data)
		}
	}
	if _, err := Join(t.Context(), fake.NewClientset(), 1); err == nil {
		t.Error("without a record it joins, and would again after each start")
	}
}

// TestWhetherAGenerationIsNoted: 0 may be one, or none.
func TestWhetherAGenerationIsNoted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data  map[string]string
		want  int
		known bool
	}{
		"none":     {map[string]string{"restored": "b"}, 0, false},
		"joined":   {map[string]string{"joined": "0"}, 0, true},
		"rebuilt":  {map[string]string{"generation": "2"}, 2, true},
		"no entry": {nil, 0, false},
	} {
		on := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: recordNamespace, Name: recordName}, Data: test.data})
		if ours, known, err := Noted(t.Context(), on); err != nil || ours != test.want || known != test.known {
			t.Errorf("%s: %d, %v, %v", name, ours, known, err)
		}
	}
	if ours, known, err := Noted(t.Context(), fake.NewClientset()); err != nil || ours != 0 || known {
		t.Errorf("without a record: %d, %v, %v", ours, known, err)
	}
}

func TestARebuildThatIsNotCompleteIsSeen(t *testing.T) {
	t.Parallel()
	begun := func(ago time.Duration) string { return time.Now().Add(-ago).UTC().Format(time.RFC3339) + " b" }
	for name, test := range map[string]struct {
		data map[string]string
		want bool
	}{
		"before its fence":          {map[string]string{"begun": begun(time.Minute)}, false},
		"restored, and paused":      {map[string]string{"begun": begun(time.Hour), "generation": "1", "restored": "b"}, false},
		"at its end":                {map[string]string{"begun": "", "generation": "1", "restored": "b"}, true},
		"given up before its fence": {map[string]string{"begun": begun(25 * time.Hour)}, true},
		"given up after its fence":  {map[string]string{"begun": begun(25 * time.Hour), "generation": "1"}, false},
		"by a clock that was ahead": {map[string]string{"begun": begun(-48 * time.Hour)}, true},
		"no time":                   {map[string]string{"begun": "x"}, true},
		"never rebuilt":             {map[string]string{"joined": "0"}, true},
		"in the middle":             {map[string]string{"joined": "0", "generation": "1"}, false},
		"complete":                  {map[string]string{"generation": "1", "restored": "b"}, true},
		"without a name":            {nil, true},
	} {
		on := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: recordNamespace, Name: recordName}, Data: test.data})
		if err := Complete(t.Context(), on); (err == nil) != test.want || !test.want && (!errors.Is(err, ErrIncomplete) || fault.Remedy(err) == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Complete(t.Context(), fake.NewClientset()); err != nil {
		t.Errorf("without a record: %v", err)
	}
}
