//! The `OpenAPI` document, made from the lines of the table and the types that they name.

use std::collections::BTreeMap;

use utoipa::{
    IntoParams, ToSchema,
    openapi::{
        Components, ContentBuilder, HttpMethod, InfoBuilder, OpenApi, OpenApiBuilder, PathsBuilder,
        Ref, RefOr, Required, ResponseBuilder, Schema, SecurityRequirement,
        path::{OperationBuilder, ParameterBuilder, ParameterIn, PathItem},
        request_body::RequestBodyBuilder,
        schema::{ObjectBuilder, Type},
        security::{Http, HttpAuthScheme, SecurityScheme},
    },
};

use super::{
    call::IDENTITY,
    fault::ErrorBody,
    input::Input,
    route::{Method, Route, full_path},
};

/// The document in the making.
#[derive(Default)]
pub(super) struct Document {
    paths: PathsBuilder,
    schemas: BTreeMap<String, RefOr<Schema>>,
}

/// One operation in the making.
pub(super) struct Described<'a> {
    operation: OperationBuilder,
    schemas: &'a mut BTreeMap<String, RefOr<Schema>>,
}

impl Document {
    /// One more line.
    pub(super) fn add<I: Input, O: ToSchema>(&mut self, route: &Route) {
        let answer = named::<O>(&mut self.schemas);
        let trouble = named::<ErrorBody>(&mut self.schemas);
        let tag = route.path.split('/').next().unwrap_or_default();
        let operation = OperationBuilder::new()
            .operation_id(Some(route.id))
            .summary(Some(route.about))
            .description(Some(format!("Takes the right to {} in the namespace.", route.right)))
            .tag(tag)
            .security(SecurityRequirement::new("key", NO_SCOPES))
            .response("200", response("What was asked for.", answer))
            .response("default", response("Why it was not carried out.", trouble));
        let mut described = Described { operation, schemas: &mut self.schemas };
        described.path(&full_path(route.path));
        if route.method != Method::Get {
            described.identity();
        }
        I::describe(&mut described);
        let item = PathItem::new(method(route.method), described.operation.build());
        self.paths = std::mem::take(&mut self.paths).path(full_path(route.path), item);
    }

    /// The whole of it.
    pub(super) fn finish(self) -> OpenApi {
        let mut components = Components::new();
        components.schemas = self.schemas.into_iter().collect();
        let key = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.add_security_scheme("key", key);
        let info = InfoBuilder::new()
            .title("Steadfast")
            .version(env!("CARGO_PKG_VERSION"))
            .description(Some(ABOUT));
        let mut document =
            OpenApiBuilder::new().info(info).paths(self.paths).components(Some(components)).build();
        // Which machine it was made on is of no interest.
        document.servers = None;
        document
    }
}

impl Described<'_> {
    /// The parameters after the question mark.
    pub(super) fn query<T: IntoParams>(&mut self) {
        let found = T::into_params(|| Some(ParameterIn::Query));
        let before = std::mem::take(&mut self.operation);
        self.operation = found.into_iter().fold(before, OperationBuilder::parameter);
    }

    /// The body.
    pub(super) fn body<T: ToSchema>(&mut self) {
        let schema = named::<T>(self.schemas);
        let body = RequestBodyBuilder::new()
            .content("application/json", ContentBuilder::new().schema(Some(schema)).build())
            .required(Some(Required::True))
            .build();
        self.operation = std::mem::take(&mut self.operation).request_body(Some(body));
    }

    fn path(&mut self, path: &str) {
        for name in path.split(['{', '}']).skip(1).step_by(2) {
            self.parameter(name, ParameterIn::Path, Required::True, "");
        }
    }

    fn identity(&mut self) {
        let about = "Who asks for it, for the record of changes; `http` if it is not said.";
        self.parameter(IDENTITY, ParameterIn::Header, Required::False, about);
    }

    fn parameter(&mut self, name: &str, place: ParameterIn, required: Required, about: &str) {
        let parameter = ParameterBuilder::new()
            .name(name)
            .parameter_in(place)
            .required(required)
            .description((!about.is_empty()).then_some(about))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)));
        self.operation = std::mem::take(&mut self.operation).parameter(parameter);
    }
}

/// Where a type is described; it is, from now on.
fn named<T: ToSchema>(schemas: &mut BTreeMap<String, RefOr<Schema>>) -> RefOr<Schema> {
    let name = T::name().into_owned();
    let mut needed = Vec::new();
    T::schemas(&mut needed);
    schemas.extend(needed);
    schemas.insert(name.clone(), T::schema());
    RefOr::Ref(Ref::from_schema_name(name))
}

fn response(about: &str, schema: RefOr<Schema>) -> utoipa::openapi::Response {
    let content = ContentBuilder::new().schema(Some(schema)).build();
    ResponseBuilder::new().description(about).content("application/json", content).build()
}

fn method(method: Method) -> HttpMethod {
    match method {
        Method::Get => HttpMethod::Get,
        Method::Post => HttpMethod::Post,
        Method::Put => HttpMethod::Put,
        Method::Patch => HttpMethod::Patch,
        Method::Delete => HttpMethod::Delete,
    }
}

/// Keys have rights, not scopes.
const NO_SCOPES: [&str; 0] = [];

const ABOUT: &str = "What operators see and do about failures: errors, attempts, resume policies, \
retry policies, settings and resume jobs. Bodies are JSON and must say so in `content-type`; fields \
that are not known are refused. Times are RFC 3339 in UTC, spans are texts such as `90s` or `1h30m`.";
