package steadfast;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.temporal.api.enums.v1.RetryState;
import io.temporal.client.WorkflowClient;
import io.temporal.client.WorkflowExecutionAlreadyStarted;
import io.temporal.client.WorkflowFailedException;
import io.temporal.client.WorkflowOptions;
import io.temporal.client.WorkflowStub;
import io.temporal.client.WorkflowUpdateException;
import io.temporal.failure.ActivityFailure;
import io.temporal.failure.ApplicationFailure;
import io.temporal.serviceclient.WorkflowServiceStubs;
import io.temporal.serviceclient.WorkflowServiceStubsOptions;
import io.temporal.worker.WorkerFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The official Java SDK: a worker that retries, heartbeats, and hears signals, queries, updates. */
final class SdkTest {
  private static final String QUEUE = "java";
  private static Server server;
  private static WorkflowServiceStubs service;
  private static WorkflowClient client;
  private static WorkerFactory factory;

  @BeforeAll
  static void open() throws Exception {
    server = new Server();
    service =
        WorkflowServiceStubs.newConnectedServiceStubs(
            WorkflowServiceStubsOptions.newBuilder().setTarget(server.address).build(),
            Duration.ofSeconds(10));
    client = WorkflowClient.newInstance(service);
    factory = WorkerFactory.newInstance(client);
    var worker = factory.newWorker(QUEUE);
    worker.registerWorkflowImplementationTypes(
        Work.DoesImpl.class, Work.AdderImpl.class, Work.LoadImpl.class);
    worker.registerActivitiesImplementations(new Work.ActivitiesImpl());
    factory.start();
  }

  @AfterAll
  static void close() throws Exception {
    factory.shutdownNow();
    service.shutdownNow();
    server.close();
  }

  private static WorkflowOptions options() {
    return WorkflowOptions.newBuilder()
        .setTaskQueue(QUEUE)
        .setWorkflowId(UUID.randomUUID().toString())
        .build();
  }

  private static int does(String what, int attempt) {
    return client.newWorkflowStub(Work.Does.class, options()).run(what, what, attempt);
  }

  @Test
  void activitiesAreTriedUntilTheySucceed() {
    assertEquals(3, does("retried", 3));
    assertEquals(3, Work.STARTS.get("retried"));
  }

  @Test
  void activitiesAreTriedAsOftenAsTheirPolicySays() {
    var failed = assertThrows(WorkflowFailedException.class, () -> does("used up", 99));
    var failure = assertInstanceOf(ActivityFailure.class, failed.getCause());
    assertEquals(RetryState.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED, failure.getRetryState());
    assertEquals(3, Work.STARTS.get("used up"));
  }

  @Test
  void activitiesAreNotTriedAgainWhenThatIsOfNoUse() {
    var failed = assertThrows(WorkflowFailedException.class, () -> does("fatal", 1));
    var cause = assertInstanceOf(ApplicationFailure.class, failed.getCause().getCause());
    assertEquals("Fatal", cause.getType());
    assertEquals(1, Work.STARTS.get("fatal"));
  }

  @Test
  void activitiesGoOnFromTheirLastHeartbeat() {
    assertEquals(5, does("resumed", 0));
  }

  @Test
  void messagesReachAWorkflow() {
    var options = options();
    var adder = client.newWorkflowStub(Work.Adder.class, options);
    WorkflowClient.start(adder::run);
    adder.add(1);
    assertEquals(1, adder.sum());
    assertEquals(3, adder.addAndTell(2));
    assertThrows(WorkflowUpdateException.class, () -> adder.addAndTell(-1));
    var again = client.newWorkflowStub(Work.Adder.class, options);
    assertThrows(
        WorkflowExecutionAlreadyStarted.class, () -> WorkflowClient.start(again::run));
    adder.finish();
    assertEquals(3, WorkflowStub.fromTyped(adder).getResult(Integer.class));
  }

  @Test
  void workflowsEndThoughTheServerIsKilledUnderLoad() throws Exception {
    var running = new ArrayList<WorkflowStub>();
    for (int index = 0; index < 60; index++) {
      var load = client.newWorkflowStub(Work.Load.class, options());
      WorkflowClient.start(load::run, "load-" + index);
      running.add(WorkflowStub.fromTyped(load));
      if (index % 25 == 24) server.killAndRestart();
    }
    for (int index = 0; index < running.size(); index++) {
      assertEquals("load-" + index + " done", running.get(index).getResult(String.class));
    }
  }
}
