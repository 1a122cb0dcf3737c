//! Namespaces: their search attributes, and their end.

use steadfast_engine::{Code, Detail};
use steadfast_proto::{
    enums::{IndexedValueType as Type, NamespaceState},
    namespace::NamespaceFilter,
    operatorservice as os, workflowservice as ws,
};

use crate::common::{
    NAMESPACE, QUEUE, Rig, attributes, calls, complete, execution, queue, seconds, survives,
};

async fn register(rig: &Rig, name: &str) {
    rig.point().await;
    let request = ws::RegisterNamespaceRequest {
        namespace: name.to_owned(),
        workflow_execution_retention_period: Some(seconds(86_400)),
        ..ws::RegisterNamespaceRequest::default()
    };
    rig.engine().register_namespace(request).await.expect("registered");
}

async fn start_in(rig: &Rig, namespace: &str, workflow_id: &str) {
    let start = rig.start_with(workflow_id, |it| it.namespace = namespace.to_owned());
    start.await.expect("started");
}

async fn names(rig: &Rig, include_deleted: bool) -> String {
    let mut names = Vec::new();
    let mut next_page_token = Vec::new();
    loop {
        let request = ws::ListNamespacesRequest {
            namespace_filter: Some(NamespaceFilter { include_deleted }),
            page_size: 1,
            next_page_token,
        };
        let page = rig.engine().list_namespaces(request).await.expect("a page");
        names.extend(page.namespaces.into_iter().map(|it| it.namespace_info.expect("one").name));
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() {
            return names.join(" ");
        }
    }
}

async fn remove(rig: &Rig, names: &[&str]) -> Result<(), steadfast_engine::Error> {
    rig.point().await;
    let request = os::RemoveSearchAttributesRequest {
        namespace: NAMESPACE.to_owned(),
        search_attributes: names.iter().map(|it| (*it).to_owned()).collect(),
    };
    rig.engine().remove_search_attributes(request).await.map(drop)
}

async fn custom(rig: &Rig) -> String {
    let request = os::ListSearchAttributesRequest { namespace: NAMESPACE.to_owned() };
    let listed = rig.engine().list_search_attributes(request).await.expect("a list");
    assert_eq!(listed.system_attributes["WorkflowId"], i32::from(Type::Keyword));
    let mut names: Vec<String> = listed.custom_attributes.into_keys().collect();
    names.sort();
    names.join(" ")
}

#[tokio::test(start_paused = true)]
async fn search_attributes_are_added_and_removed_for_good() {
    let told = survives(async |rig: &Rig| {
        rig.add_attributes(&[("Customer", Type::Keyword), ("Amount", Type::Int)])
            .await
            .expect("added");
        let start = rig.start_with("order-1", |it| {
            it.search_attributes = Some(attributes("Customer", "\"ann\""));
        });
        start.await.expect("started");
        assert_eq!(custom(rig).await, "Amount Customer");
        remove(rig, &["Customer"]).await.expect("removed");
        rig.point().await;
        assert_eq!(
            rig.count("Customer = 'ann'").await.expect_err("gone").code,
            Code::InvalidArgument
        );
        rig.describe("order-1").await.expect("it can still be read");
        rig.step(vec![complete("done")]).await;
        let all = rig.engine().get_search_attributes(ws::GetSearchAttributesRequest {}).await;
        let all = all.expect("all of them").keys;
        assert!(all.contains_key("Amount") && all.contains_key("StartTime"));
        custom(rig).await
    });
    assert_eq!(told.await, "Amount");
}

#[tokio::test(start_paused = true)]
async fn bad_search_attributes_are_refused_and_change_nothing() {
    let rig = Rig::new().await;
    rig.add_attributes(&[("Amount", Type::Int)]).await.expect("added");
    rig.add_attributes(&[("Amount", Type::Int)]).await.expect("the same again");
    rig.add_attributes(&[("aMOUNT", Type::Int)]).await.expect("the same in another case");
    for (wanted, code, message) in [
        (
            ("RunId", Type::Int),
            Code::InvalidArgument,
            "Search attribute RunId is reserved by system.",
        ),
        (
            ("New", Type::Unspecified),
            Code::InvalidArgument,
            "Search attribute New has no valid type.",
        ),
        (
            ("Amount", Type::Text),
            Code::AlreadyExists,
            "Search attribute Amount already exists with type Int.",
        ),
        (
            ("AMOUNT", Type::Text),
            Code::AlreadyExists,
            "Search attribute Amount already exists with type Int.",
        ),
        (
            ("fine", Type::Text),
            Code::AlreadyExists,
            "Search attribute Fine already exists with type Int.",
        ),
    ] {
        let refused = rig.add_attributes(&[("Fine", Type::Int), wanted]).await.expect_err("bad");
        assert_eq!((refused.code, refused.message.as_str()), (code, message));
    }
    assert_eq!(rig.add_attributes(&[]).await.expect_err("none").code, Code::InvalidArgument);
    assert_eq!(remove(&rig, &["Amount", "Nope"]).await.expect_err("no").code, Code::NotFound);
    assert_eq!(remove(&rig, &["RunId"]).await.expect_err("no").code, Code::InvalidArgument);
    assert_eq!(remove(&rig, &[]).await.expect_err("none").code, Code::InvalidArgument);
    assert_eq!(custom(&rig).await, "Amount");
}

#[tokio::test(start_paused = true)]
async fn attributes_that_are_added_at_the_same_time_are_all_there() {
    let rig = Rig::new().await;
    let (one, two) = tokio::join!(
        rig.add_attributes(&[("One", Type::Int)]),
        rig.add_attributes(&[("Two", Type::Int)])
    );
    one.and(two).expect("both");
    assert_eq!(custom(&rig).await, "One Two");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_namespace_frees_its_name_and_takes_its_runs_along() {
    let told = survives(async |rig: &Rig| {
        register(rig, "shop").await;
        for n in 0..3 {
            start_in(rig, "shop", &format!("order-{n}")).await;
        }
        start_in(rig, NAMESPACE, "order-1").await;
        rig.point().await;
        let by_name = |namespace: &str| os::DeleteNamespaceRequest {
            namespace: namespace.to_owned(),
            ..os::DeleteNamespaceRequest::default()
        };
        let deleted = rig.engine().delete_namespace(by_name("shop")).await.expect("deleted");
        assert!(deleted.deleted_namespace.starts_with("shop-deleted-"));
        for name in ["shop", &deleted.deleted_namespace] {
            let request = ws::DescribeNamespaceRequest {
                namespace: name.to_owned(),
                ..ws::DescribeNamespaceRequest::default()
            };
            let error = rig.engine().describe_namespace(request).await.expect_err("gone");
            assert!(matches!(error.detail.as_deref(), Some(Detail::NamespaceNotFound(_))));
        }
        // The plug is pulled while its runs are deleted, and the name is taken again.
        rig.point().await;
        register(rig, "shop").await;
        rig.wait(60).await;
        assert_eq!(names(rig, true).await, "default shop", "no trace is left");
        let count = ws::CountWorkflowExecutionsRequest {
            namespace: "shop".to_owned(),
            query: String::new(),
        };
        let in_shop = rig.engine().count_workflow_executions(count).await.expect("a count").count;
        assert_eq!((in_shop, rig.count("").await), (0, Ok(1)), "others keep theirs");
        start_in(rig, "shop", "order-1").await;
        let task = rig
            .engine()
            .poll_workflow_task_queue(ws::PollWorkflowTaskQueueRequest {
                namespace: "shop".to_owned(),
                task_queue: Some(queue(QUEUE)),
                ..calls::task_poll(QUEUE)
            })
            .await;
        assert_eq!(task.expect("a poll").started_event_id, 3, "a fresh run");
        rig.describe("order-1").await.expect("still there");
        in_shop.to_string()
    });
    assert_eq!(told.await, "0");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_with_many_runs_is_shown_as_deleted_until_they_are_gone() {
    let rig = Rig::new().await;
    register(&rig, "shop").await;
    for n in 0..250 {
        start_in(&rig, "shop", &format!("order-{n}")).await;
    }
    let described = rig
        .engine()
        .describe_namespace(ws::DescribeNamespaceRequest {
            namespace: "shop".to_owned(),
            ..ws::DescribeNamespaceRequest::default()
        })
        .await;
    let id = described.expect("there").namespace_info.expect("an info").id;
    let both = os::DeleteNamespaceRequest {
        namespace: "shop".to_owned(),
        namespace_id: id.clone(),
        ..os::DeleteNamespaceRequest::default()
    };
    let refused = rig.engine().delete_namespace(both).await.expect_err("which?");
    assert_eq!(refused.code, Code::InvalidArgument);
    let by_id = os::DeleteNamespaceRequest {
        namespace_id: id.clone(),
        ..os::DeleteNamespaceRequest::default()
    };
    let deleted = rig.engine().delete_namespace(by_id.clone()).await.expect("deleted");
    assert_eq!(names(&rig, false).await, "default");
    assert_eq!(names(&rig, true).await, format!("default {}", deleted.deleted_namespace));
    let all = rig
        .engine()
        .list_namespaces(ws::ListNamespacesRequest {
            namespace_filter: Some(NamespaceFilter { include_deleted: true }),
            ..ws::ListNamespacesRequest::default()
        })
        .await;
    let states: Vec<NamespaceState> = all
        .expect("a page")
        .namespaces
        .into_iter()
        .map(|it| it.namespace_info.expect("an info").state())
        .collect();
    assert_eq!(states, [NamespaceState::Registered, NamespaceState::Deleted]);
    let again = rig.engine().delete_namespace(by_id).await.expect_err("gone already");
    assert_eq!(again.code, Code::NotFound);
    rig.crash().await;
    rig.wait(60).await;
    assert_eq!(names(&rig, true).await, "default");
    let gone = rig
        .engine()
        .describe_workflow_execution(ws::DescribeWorkflowExecutionRequest {
            namespace: "shop".to_owned(),
            execution: Some(execution("order-1", "")),
        })
        .await;
    assert_eq!(gone.expect_err("gone").code, Code::NotFound);
}
