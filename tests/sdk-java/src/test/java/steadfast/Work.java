package steadfast;

import io.temporal.activity.Activity;
import io.temporal.activity.ActivityInterface;
import io.temporal.activity.ActivityOptions;
import io.temporal.client.ActivityCompletionException;
import io.temporal.common.RetryOptions;
import io.temporal.failure.ApplicationFailure;
import io.temporal.workflow.QueryMethod;
import io.temporal.workflow.SignalMethod;
import io.temporal.workflow.UpdateMethod;
import io.temporal.workflow.UpdateValidatorMethod;
import io.temporal.workflow.Workflow;
import io.temporal.workflow.WorkflowInterface;
import io.temporal.workflow.WorkflowMethod;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The workflows and activities of this suite. */
final class Work {
  /** How often an activity was started, by a key of the test's choice. */
  static final Map<String, Integer> STARTS = new ConcurrentHashMap<>();

  private Work() {}

  @ActivityInterface
  public interface Activities {
    int flaky(String key, int attempt);

    void fatal(String key);

    int resumed();
  }

  static final class ActivitiesImpl implements Activities {
    @Override
    public int flaky(String key, int attempt) {
      STARTS.merge(key, 1, Integer::sum);
      int at = Activity.getExecutionContext().getInfo().getAttempt();
      if (at < attempt) throw new IllegalStateException("attempt " + at + " fails");
      return at;
    }

    @Override
    public void fatal(String key) {
      STARTS.merge(key, 1, Integer::sum);
      throw ApplicationFailure.newNonRetryableFailure("it cannot be", "Fatal");
    }

    /** Hangs in its first attempt, and tells the second what it had done. */
    @Override
    public int resumed() {
      var context = Activity.getExecutionContext();
      var done = context.getHeartbeatDetails(Integer.class);
      if (done.isPresent()) return done.get();
      context.heartbeat(5);
      try {
        Thread.sleep(3000);
      } catch (InterruptedException stopped) {
        Thread.currentThread().interrupt();
      }
      try {
        context.heartbeat(6);
      } catch (ActivityCompletionException lost) {
        throw lost;
      }
      return 0;
    }
  }

  static ActivityOptions options(int attempts) {
    return ActivityOptions.newBuilder()
        .setStartToCloseTimeout(Duration.ofSeconds(20))
        .setHeartbeatTimeout(Duration.ofSeconds(1))
        .setRetryOptions(
            RetryOptions.newBuilder()
                .setInitialInterval(Duration.ofMillis(50))
                .setBackoffCoefficient(1)
                .setMaximumAttempts(attempts)
                .build())
        .build();
  }

  /** Does one kind of activity. */
  @WorkflowInterface
  public interface Does {
    @WorkflowMethod
    int run(String what, String key, int attempt);
  }

  public static final class DoesImpl implements Does {
    @Override
    public int run(String what, String key, int attempt) {
      var few = Workflow.newActivityStub(Activities.class, options(3));
      var many = Workflow.newActivityStub(Activities.class, options(0));
      switch (what) {
        case "retried":
          return many.flaky(key, attempt);
        case "used up":
          return few.flaky(key, attempt);
        case "fatal":
          many.fatal(key);
          return 0;
        default:
          return many.resumed();
      }
    }
  }

  /** Adds up what it is told. */
  @WorkflowInterface
  public interface Adder {
    @WorkflowMethod
    int run();

    @SignalMethod
    void add(int value);

    @QueryMethod
    int sum();

    @UpdateMethod
    int addAndTell(int value);

    @UpdateValidatorMethod(updateName = "addAndTell")
    void onlyUp(int value);

    @SignalMethod
    void finish();
  }

  public static final class AdderImpl implements Adder {
    private int total;
    private boolean done;

    @Override
    public int run() {
      Workflow.await(() -> done);
      return total;
    }

    @Override
    public void add(int value) {
      total += value;
    }

    @Override
    public int sum() {
      return total;
    }

    @Override
    public int addAndTell(int value) {
      Workflow.sleep(10);
      total += value;
      return total;
    }

    @Override
    public void onlyUp(int value) {
      if (value < 0) throw new IllegalArgumentException("only up");
    }

    @Override
    public void finish() {
      done = true;
    }
  }

  /** One step of load: a child with an activity that fails once, and a timer. */
  @WorkflowInterface
  public interface Load {
    @WorkflowMethod
    String run(String key);
  }

  public static final class LoadImpl implements Load {
    @Override
    public String run(String key) {
      var child = Workflow.newChildWorkflowStub(Does.class);
      int attempt = child.run("retried", key, 2);
      Workflow.sleep(100);
      return key + (attempt >= 2 ? " done" : " not retried");
    }
  }
}
