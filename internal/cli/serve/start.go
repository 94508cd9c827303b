package serve

import (
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/ui"
)

// started is what every API starts with: its log, the cluster with its objects, and the service
// user.
type started struct {
	log    logger
	config *rest.Config
	login  *cloud.Login
}

// start prepares an API whose callers are known by an identity. name is that in the log, and in
// requests to the cluster.
func (o options) start(streams ui.Streams, name string, by *identity) (s started, err error) {
	if s.log, err = newLogger(streams.Err, o.logLevel, o.logFormat); err != nil {
		return s, err
	}
	s.log.install()
	if s.config, err = o.config(); err != nil {
		return s, err
	}
	s.config.UserAgent = fmt.Sprintf("slipway/%s (%s)", component.SlipwayVersion(), name)
	authorities, err := by.authorities()
	if err != nil {
		return s, err
	}
	s.login, err = by.login(authorities)
	return s, err
}
