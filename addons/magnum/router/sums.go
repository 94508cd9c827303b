package router

import "net/http"

// stats adds the numbers of all members up.
func (c *call) stats() error {
	answers, err := c.fromAll("stats")
	if err != nil {
		return err
	}
	var clusters, nodes int64
	for _, a := range answers {
		var of struct {
			Clusters int64 `json:"clusters"`
			Nodes    int64 `json:"nodes"`
		}
		if err := a.decode(&of); err != nil {
			return err
		}
		clusters, nodes = clusters+of.Clusters, nodes+of.Nodes
	}
	return c.replyMerged(answers[0], map[string]any{"clusters": clusters, "nodes": nodes})
}

// services lists the controllers of all members, one each.
func (c *call) services() error {
	answers, err := c.fromAll("mservices")
	if err != nil {
		return err
	}
	all := []map[string]any{}
	for _, a := range answers {
		var list struct {
			Services []map[string]any `json:"mservices"`
		}
		if err := a.decode(&list); err != nil {
			return err
		}
		for _, service := range list.Services {
			service["id"] = len(all) + 1
			all = append(all, service)
		}
	}
	return c.replyMerged(answers[0], map[string]any{"mservices": all})
}

// fromAll asks all members. One that refuses refuses for all: they have the same rules.
func (c *call) fromAll(path string) ([]*answer, error) {
	answers, err := c.askAll(c.s.everyone(nil), path, c.values)
	if err != nil {
		return nil, err
	}
	for _, a := range answers {
		if a.status != http.StatusOK {
			return nil, a.refusal()
		}
	}
	return answers, nil
}
