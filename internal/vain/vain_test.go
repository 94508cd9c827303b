package vain

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestAWaitIsOverWhenItsCauseLasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w Watch
		for second := range 100 {
			gone := second == 20 // for a moment
			if over := w.Over(!gone); over != (second >= 21+int(Patience/time.Second)) {
				t.Errorf("after %d s: over is %v", second, over)
			}
			time.Sleep(time.Second)
		}
	})
}

// TestHowSoonAnErrorEndsAWait: what no time changes ends it at once, what is refused after a
// while, and what may pass never.
func TestHowSoonAnErrorEndsAWait(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want time.Duration // negative is never
	}{
		"certain":           {fmt.Errorf("asking: %w", Certain(errors.New("no kubeconfig"))), 0},
		"refused":           {fmt.Errorf("asking: %w", Final(errors.New("no image"))), Patience},
		"may pass":          {errors.New("connection refused"), -1},
		"none":              {nil, -1},
		"certainly nothing": {Certain(nil), -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var w Watch
				began, have := time.Now(), time.Duration(-1)
				for range 100 {
					if w.Ends(test.err) {
						have = time.Since(began)
						break
					}
					time.Sleep(time.Second)
				}
				if have != test.want {
					t.Errorf("it ends after %s, want %s", have, test.want)
				}
			})
		})
	}
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	of := schema.GroupResource{Resource: "clusters"}
	status := func(code int) error {
		return fmt.Errorf("listing servers: %w", gophercloud.ErrUnexpectedResponseCode{Actual: code})
	}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"none":                 {nil, false},
		"login":                {apierrors.NewUnauthorized("no"), true},
		"right":                {fmt.Errorf("listing: %w", apierrors.NewForbidden(of, "a", errors.New("no"))), true},
		"not there yet":        {apierrors.NewNotFound(of, "a"), false},
		"certificate":          {fmt.Errorf("Get: %w", &tls.CertificateVerificationError{Err: errors.New("expired")}), true},
		"refused connection":   {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, false},
		"login of the cloud":   {status(401), true},
		"right in the cloud":   {status(403), true},
		"cloud is down":        {status(503), false},
		"cloud is busy":        {status(429), false},
		"who made it knows it": {fmt.Errorf("waiting: %w", Final(errors.New("gone"))), true},
		"no time changes it":   {fmt.Errorf("waiting: %w", Certain(errors.New("no kubeconfig"))), true},
		"nothing is final":     {Final(nil), false},
	} {
		if got := Refused(test.err); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
