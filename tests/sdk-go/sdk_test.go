package sdk

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
)

const queue = "go"

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

var _ log.Logger = silent{}

// open starts a server, a client and a worker.
func open(t *testing.T) (*server, client.Client) {
	t.Helper()
	s := startServer(t)
	c, err := client.Dial(client.Options{HostPort: s.address, Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := worker.New(c, queue, worker.Options{})
	for _, workflow := range []any{Retried, UsedUp, NotRetried, Heartbeats, Adder, Parent, CountsDown, Load} {
		w.RegisterWorkflow(workflow)
	}
	for _, activity := range []any{Flaky, Fatal, Resumed} {
		w.RegisterActivity(activity)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return s, c
}

func run[T any](t *testing.T, c client.Client, workflow any, args ...any) (T, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	started, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: queue}, workflow, args...)
	if err != nil {
		t.Fatal(err)
	}
	var result T
	err = started.Get(ctx, &result)
	return result, err
}

func TestActivities(t *testing.T) {
	_, c := open(t)
	t.Run("are tried until they succeed", func(t *testing.T) {
		last, err := run[int32](t, c, Retried, "retried", int32(3))
		if err != nil || last != 3 || starts.count("retried") != 3 {
			t.Fatal(last, err, starts.count("retried"))
		}
	})
	t.Run("are tried as often as their policy says", func(t *testing.T) {
		_, err := run[any](t, c, UsedUp, "used up")
		var failure *temporal.ActivityError
		if !errors.As(err, &failure) || starts.count("used up") != 3 {
			t.Fatal(err, starts.count("used up"))
		}
		if got := failure.RetryState().String(); got != "MaximumAttemptsReached" {
			t.Fatal(got)
		}
	})
	t.Run("are not tried again when that is of no use", func(t *testing.T) {
		_, err := run[any](t, c, NotRetried, "fatal")
		var failure *temporal.ApplicationError
		if !errors.As(err, &failure) || failure.Type() != "Fatal" || starts.count("fatal") != 1 {
			t.Fatal(err, starts.count("fatal"))
		}
	})
	t.Run("go on from their last heartbeat", func(t *testing.T) {
		done, err := run[int](t, c, Heartbeats)
		if err != nil || done != 5 {
			t.Fatal(done, err)
		}
	})
}

func TestMessages(t *testing.T) {
	_, c := open(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	started, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "adder", TaskQueue: queue}, Adder)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SignalWorkflow(ctx, "adder", "", "add", 1); err != nil {
		t.Fatal(err)
	}
	answer, err := c.QueryWorkflow(ctx, "adder", "", "sum")
	if err != nil {
		t.Fatal(err)
	}
	var sum int
	if err := answer.Get(&sum); err != nil || sum != 1 {
		t.Fatal(sum, err)
	}
	update := func(value int) (int, error) {
		handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID:   "adder",
			UpdateName:   "add",
			Args:         []any{value},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err != nil {
			return 0, err
		}
		var total int
		err = handle.Get(ctx, &total)
		return total, err
	}
	if total, err := update(2); err != nil || total != 3 {
		t.Fatal(total, err)
	}
	if _, err := update(-1); err == nil {
		t.Fatal("the validator was not asked")
	}
	options := client.StartWorkflowOptions{ID: "adder", TaskQueue: queue, WorkflowExecutionErrorWhenAlreadyStarted: true}
	_, err = c.ExecuteWorkflow(ctx, options, Adder)
	var taken *serviceerror.WorkflowExecutionAlreadyStarted
	if !errors.As(err, &taken) {
		t.Fatal(err)
	}
	if err := c.SignalWorkflow(ctx, "adder", "", "add", 0); err != nil {
		t.Fatal(err)
	}
	if err := started.Get(ctx, &sum); err != nil || sum != 3 {
		t.Fatal(sum, err)
	}
}

func TestRunsThatBelongTogether(t *testing.T) {
	_, c := open(t)
	if last, err := run[int32](t, c, Parent, "child"); err != nil || last != 2 {
		t.Fatal(last, err)
	}
	if end, err := run[string](t, c, CountsDown, 3); err != nil || end != "zero" {
		t.Fatal(end, err)
	}
}

func TestTheServerIsKilledUnderLoad(t *testing.T) {
	s, c := open(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var running []client.WorkflowRun
	for index := range 100 {
		id := fmt.Sprintf("load-%d", index)
		started, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: queue}, Load, id)
		if err != nil {
			t.Fatal(err)
		}
		running = append(running, started)
		if index%40 == 39 {
			s.killAndRestart()
		}
	}
	for index, started := range running {
		var result string
		err := started.Get(ctx, &result)
		if want := fmt.Sprintf("load-%d v1", index); err != nil || result != want {
			t.Fatalf("%q, not %q: %v", result, want, err)
		}
	}
}
