package router

import (
	"net/http"
	"net/url"

	"github.com/slipway-sh/slipway/addons/openstackapi"
)

// locate is the member that has an object, which an administrator names: that of their own
// project if it has it, else the only other one.
func (c *call) locate(own *Member, object string) (*Member, error) {
	here, err := c.ask(c.ctx(), own, object, url.Values{})
	if err != nil {
		return nil, err
	}
	if here.status != http.StatusNotFound {
		return own, nil
	}
	answers, err := c.askAll(c.s.everyone(own), object, url.Values{})
	if err != nil {
		return nil, err
	}
	var there *Member
	for _, a := range answers {
		switch {
		case a.status == http.StatusNotFound:
		case there != nil:
			return nil, &openstackapi.Error{Status: http.StatusConflict, Detail: "Several management clusters have one of that name. Use its UUID."}
		default:
			there = a.from
		}
	}
	if there == nil {
		return own, nil // which says that there is none
	}
	return there, nil
}
