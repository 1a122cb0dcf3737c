// Package sdk runs the official Go SDK against a Steadfast server.
package sdk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Starts counts how often an activity was started, by a key of the test's choice.
type Starts struct {
	sync.Mutex
	of map[string]int
}

func (s *Starts) add(key string) {
	s.Lock()
	defer s.Unlock()
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.of[key]++
}

func (s *Starts) count(key string) int {
	s.Lock()
	defer s.Unlock()
	return s.of[key]
}

var starts Starts

// Flaky fails until its attempt number is reached.
func Flaky(ctx context.Context, key string, attempt int32) (int32, error) {
	starts.add(key)
	info := activity.GetInfo(ctx)
	if info.Attempt < attempt {
		return 0, fmt.Errorf("attempt %d fails", info.Attempt)
	}
	return info.Attempt, nil
}

// Fatal fails for good.
func Fatal(_ context.Context, key string) error {
	starts.add(key)
	return temporal.NewNonRetryableApplicationError("it cannot be", "Fatal", nil)
}

// Resumed hangs in its first attempt and tells the second what it had done.
func Resumed(ctx context.Context) (int, error) {
	if activity.HasHeartbeatDetails(ctx) {
		var done int
		err := activity.GetHeartbeatDetails(ctx, &done)
		return done, err
	}
	activity.RecordHeartbeat(ctx, 5)
	<-ctx.Done()
	return 0, ctx.Err()
}

func quick(attempts int32) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    50 * time.Millisecond,
		BackoffCoefficient: 1,
		MaximumAttempts:    attempts,
	}
}

func withActivity(ctx workflow.Context, attempts int32) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 20 * time.Second,
		HeartbeatTimeout:    time.Second,
		RetryPolicy:         quick(attempts),
	})
}

// Retried waits for an activity that fails at first.
func Retried(ctx workflow.Context, key string, attempt int32) (int32, error) {
	var last int32
	err := workflow.ExecuteActivity(withActivity(ctx, 0), Flaky, key, attempt).Get(ctx, &last)
	return last, err
}

// UsedUp waits for an activity that may be tried three times.
func UsedUp(ctx workflow.Context, key string) error {
	return workflow.ExecuteActivity(withActivity(ctx, 3), Flaky, key, 99).Get(ctx, nil)
}

// NotRetried waits for an activity that fails for good.
func NotRetried(ctx workflow.Context, key string) error {
	return workflow.ExecuteActivity(withActivity(ctx, 0), Fatal, key).Get(ctx, nil)
}

// Heartbeats waits for an activity that is lost once.
func Heartbeats(ctx workflow.Context) (int, error) {
	var done int
	err := workflow.ExecuteActivity(withActivity(ctx, 0), Resumed).Get(ctx, &done)
	return done, err
}

// Adder adds up what it is told by signals and updates.
func Adder(ctx workflow.Context) (int, error) {
	total := 0
	if err := workflow.SetQueryHandler(ctx, "sum", func() (int, error) { return total, nil }); err != nil {
		return 0, err
	}
	add := func(ctx workflow.Context, value int) (int, error) {
		if err := workflow.Sleep(ctx, 10*time.Millisecond); err != nil {
			return 0, err
		}
		total += value
		return total, nil
	}
	validate := func(value int) error {
		if value < 0 {
			return errors.New("only up")
		}
		return nil
	}
	options := workflow.UpdateHandlerOptions{Validator: validate}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, "add", add, options); err != nil {
		return 0, err
	}
	signals := workflow.GetSignalChannel(ctx, "add")
	for {
		var value int
		signals.Receive(ctx, &value)
		if value == 0 {
			return total, nil
		}
		total += value
	}
}

// Parent waits for its child, which waits for an activity.
func Parent(ctx workflow.Context, key string) (int32, error) {
	var last int32
	err := workflow.ExecuteChildWorkflow(ctx, Retried, key, int32(2)).Get(ctx, &last)
	return last, err
}

// CountsDown goes on as new until it is at zero.
func CountsDown(ctx workflow.Context, from int) (string, error) {
	if from > 0 {
		return "", workflow.NewContinueAsNewError(ctx, CountsDown, from-1)
	}
	return "zero", nil
}

// Load is one step of load: an activity that fails once, a timer, a version.
func Load(ctx workflow.Context, key string) (string, error) {
	var last int32
	err := workflow.ExecuteActivity(withActivity(ctx, 0), Flaky, key, 2).Get(ctx, &last)
	if err != nil {
		return "", err
	}
	version := workflow.GetVersion(ctx, "greeting", workflow.DefaultVersion, 1)
	if err := workflow.Sleep(ctx, 100*time.Millisecond); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s v%d", key, version), nil
}
