//! Paths, bases and folders of the page.

use super::*;

fn options(dir: Option<&Path>, base_path: &str) -> UiOptions {
    UiOptions {
        dir: dir.map(Path::to_owned),
        base_path: base_path.to_owned(),
        frame_ancestors: "'none'".to_owned(),
    }
}

async fn body_of(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_base_is_written_into_the_page() {
    let page = "<html><head><meta charset=\"utf-8\" /><base href=\"/\" /><title>";
    assert_eq!(with_base(page, "/a/b/"), page.replace("href=\"/\"", "href=\"/a/b/\""));
    assert_eq!(with_base("<head><title>", "/"), "<head><base href=\"/\" /><title>");
}

#[test]
fn nothing_leads_out_of_the_folder() {
    let folder = Path::new("/srv/page");
    for bad in [
        "",
        "..",
        "../secret",
        "assets/../../secret",
        "/etc/passwd",
        "assets//../x",
        ".git/config",
        "a/.env",
        "a\0b",
        "..%2fsecret",
        "a\\..\\b",
    ] {
        assert_eq!(inside(folder, bad), None, "{bad:?}");
    }
    assert_eq!(inside(folder, "assets/a.js"), Some(PathBuf::from("/srv/page/assets/a.js")));
}

#[tokio::test]
async fn a_folder_is_served_as_it_is_at_the_moment() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Ui::new(&options(Some(folder.path()), "/")).is_err(), "a folder without a page is wrong usage");
    std::fs::write(folder.path().join(INDEX), "<head></head>one").unwrap();
    std::fs::create_dir(folder.path().join("assets")).unwrap();
    std::fs::write(folder.path().join("assets/a.js"), "first").unwrap();
    let ui = Ui::new(&options(Some(folder.path()), "/flame/")).unwrap();
    let none = HeaderMap::new();
    for page in PAGES {
        let text = body_of(ui.find(page, &none).await.unwrap()).await;
        assert_eq!(text, "<head><base href=\"/flame/\" /></head>one");
    }
    let script = ui.find("assets/a.js", &none).await.unwrap();
    assert_eq!(script.headers()[header::CONTENT_TYPE], "text/javascript; charset=utf-8");
    assert_eq!(script.headers()[header::CACHE_CONTROL], "no-cache");
    let tag = script.headers()[header::ETAG].clone();
    assert_eq!(body_of(script).await, "first");
    let known = HeaderMap::from_iter([(header::IF_NONE_MATCH, tag)]);
    assert_eq!(ui.find("assets/a.js", &known).await.unwrap().status(), StatusCode::NOT_MODIFIED);
    std::fs::write(folder.path().join("assets/a.js"), "second").unwrap();
    assert_eq!(body_of(ui.find("assets/a.js", &known).await.unwrap()).await, "second");
    std::fs::write(folder.path().join(INDEX), "<head></head>two").unwrap();
    assert!(body_of(ui.find("", &none).await.unwrap()).await.ends_with("two"));
    assert!(body_of(ui.find("explore/", &none).await.unwrap()).await.ends_with("two"));
    for other in ["api/v1/services", "assets", "assets/b.js", "index.html", "nowhere", "explore/x"] {
        assert!(ui.find(other, &none).await.is_none(), "{other}");
    }
}

#[tokio::test]
async fn without_a_build_the_page_says_how_to_make_one_in_both_languages() {
    let ui = Ui {
        source: Source::NotBuilt,
        index: Index::new(NOT_BUILT.as_bytes(), "/"),
        policy: HeaderValue::from_static("default-src 'self'"),
        base_path: "/".to_owned(),
    };
    let text = body_of(ui.find("", &HeaderMap::new()).await.unwrap()).await;
    assert!(text.contains("make ui") && text.contains("--ui-dir") && text.contains("网页界面"), "{text}");
    assert!(ui.find("assets/a.js", &HeaderMap::new()).await.is_none());
}

#[tokio::test]
async fn a_path_of_nobody_is_a_page_for_browsers_and_json_for_programs() {
    use axum::{Router, body::Body, routing::get};
    use tower::ServiceExt;

    let ui = Ui {
        source: Source::NotBuilt,
        index: Index::new(NOT_BUILT.as_bytes(), "/"),
        policy: HeaderValue::from_static("default-src 'self'"),
        base_path: "/".to_owned(),
    };
    let mark = |mut response: Response| {
        *response.status_mut() = StatusCode::NOT_FOUND;
        response
    };
    let nobody = move || async move {
        let mut response = mark("json".into_response());
        response.extensions_mut().insert(NoSuchPath);
        response
    };
    let router = Router::new()
        .route("/api/v1/profiles/1", get(move || async move { mark("no such profile".into_response()) }))
        .fallback(nobody);
    let visit =
        |request| serve(&ui, request, |request| async { router.clone().oneshot(request).await.unwrap() });
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for (path, accept, is_page) in [
        ("/nonsense", browser, true),
        ("/a/b?c=d", "TEXT/HTML", true),
        ("/nonsense", "*/*", false),
        ("/nonsense", "application/json", false),
        ("/nonsense", "text/html;q=0, application/json", false),
        ("/api/v1/profiles/1", browser, false),
    ] {
        let request = Request::get(path).header(header::ACCEPT, accept).body(Body::empty()).unwrap();
        let response = visit(request).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path} {accept}");
        let headers = response.headers().clone();
        let text = body_of(response).await;
        assert_eq!(text.contains("<html"), is_page, "{path} {accept}: {text}");
        assert_eq!(headers.contains_key(header::CONTENT_SECURITY_POLICY), is_page, "{path} {accept}");
        assert!(!headers.contains_key(header::ETAG), "{path} {accept}");
    }
    // A tag that is known elsewhere makes no "not modified" of it, and other methods are no visits.
    let known = Request::get("/nonsense").header(header::ACCEPT, browser).header(header::IF_NONE_MATCH, "*");
    let response = visit(known.body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    let posted = Request::post("/nonsense").header(header::ACCEPT, browser).body(Body::empty()).unwrap();
    assert_eq!(body_of(visit(posted).await).await, "json");
}

#[test]
fn packed_forms_go_to_who_can_read_them() {
    static ASSET: Asset =
        Asset { path: "assets/a-1.js", plain: b"plain", gzip: Some(b"gzip"), brotli: Some(b"br"), tag: "t" };
    for (accepted, encoding, tag) in [
        ("gzip, deflate, br, zstd", Some("br"), "\"t-br\""),
        ("gzip, br;q=0", Some("gzip"), "\"t-gzip\""),
        ("identity", None, "\"t\""),
    ] {
        let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted))]);
        let response = embedded(&ASSET, &headers);
        let said = response.headers().get(header::CONTENT_ENCODING).map(|value| value.to_str().unwrap());
        assert_eq!((said, response.headers()[header::ETAG].to_str().unwrap()), (encoding, tag), "{accepted}");
        assert!(response.headers()[header::CACHE_CONTROL].to_str().unwrap().contains("immutable"));
    }
}
